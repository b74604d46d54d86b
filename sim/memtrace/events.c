/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See events.h.
 */
#include "memtrace/events.h"

#include "memtrace/buffers.h"
#include "memtrace/pipe.h"

static ULong *posts; /* of each thread, so far */

void events_append(ThreadId thread, const struct trace_event *event)
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

struct post events_post(ThreadId thread, enum trace_call what, Addr address, UInt site)
{
    struct post post = {.number = ++posts[thread], .thread = buffers_number_of(thread)};

    events_append(thread, &(struct trace_event){
                              .kind = TRACE_POST,
                              .what = (uint8_t)what,
                              .address = address,
                              .site = site,
                          });
    return post;
}

void events_wait(ThreadId thread, enum trace_call what, Addr address, UInt site, struct post post)
{
    if (post.number == 0 || post.thread == buffers_number_of(thread))
        return;
    events_append(thread, &(struct trace_event){
                              .kind = TRACE_WAIT,
                              .what = (uint8_t)what,
                              .address = address,
                              .site = site,
                              .thread = post.thread,
                              .value = post.number,
                          });
}

void events_thread_is_made(ThreadId thread)
{
    if (posts == NULL)
        posts = VG_(calloc)("memtrace.posts", VG_N_THREADS, sizeof *posts);
    posts[thread] = 0;
}
