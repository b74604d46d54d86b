/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See events.h.
 */
#include "memtrace/events.h"

#include "memtrace/buffers.h"
#include "memtrace/memtrace.h"
#include "memtrace/pipe.h"

static ULong *posts; /* of each thread, so far */

/* Whose turn it is; if its thread has ended, its last post. */
static ThreadId at_turn = VG_INVALID_THREADID;
static struct post last_of_the_ended;

static void append(ThreadId thread, const struct trace_event *event)
{
    struct wire_event sent = {
        .kind_what_shared =
            (UInt)event->kind | (UInt)event->what << 8 | (event->shared ? 1U << 16 : 0),
        .address = event->address,
        .value = event->value,
        .site = event->site,
        .stack = event->stack,
        .thread = event->thread,
    };

    if (pipe_is_open)
        buffers_append(thread, &sent);
}

static struct post append_post(ThreadId thread, enum trace_call what, Addr address, UInt site)
{
    struct post post = {.number = ++posts[thread], .thread = buffers_number_of(thread)};

    append(thread, &(struct trace_event){
                       .kind = TRACE_POST,
                       .what = (uint8_t)what,
                       .address = address,
                       .site = site,
                   });
    return post;
}

static void append_wait(ThreadId thread, enum trace_call what, Addr address, UInt site,
                        struct post post)
{
    if (post.number == 0 || post.thread == buffers_number_of(thread))
        return;
    append(thread, &(struct trace_event){
                       .kind = TRACE_WAIT,
                       .what = (uint8_t)what,
                       .address = address,
                       .site = site,
                       .thread = post.thread,
                       .value = post.number,
                   });
}

void events_thread_goes_on(ThreadId thread)
{
    struct post end;

    if (!options.values || thread == at_turn)
        return;
    end =
        at_turn != VG_INVALID_THREADID ? append_post(at_turn, TRACE_TURN, 0, 0) : last_of_the_ended;
    at_turn = thread;
    append_wait(thread, TRACE_TURN, 0, 0, end);
}

void events_append(ThreadId thread, const struct trace_event *event)
{
    events_thread_goes_on(thread);
    append(thread, event);
}

struct post events_post(ThreadId thread, enum trace_call what, Addr address, UInt site)
{
    events_thread_goes_on(thread);
    return append_post(thread, what, address, site);
}

void events_wait(ThreadId thread, enum trace_call what, Addr address, UInt site, struct post post)
{
    events_thread_goes_on(thread);
    append_wait(thread, what, address, site, post);
}

void events_thread_is_made(ThreadId thread)
{
    if (posts == NULL)
        posts = VG_(calloc)("memtrace.posts", VG_N_THREADS, sizeof *posts);
    posts[thread] = 0;
}

void events_thread_ends(ThreadId thread, struct post last)
{
    if (thread != at_turn)
        return;
    at_turn = VG_INVALID_THREADID;
    last_of_the_ended = last;
}
