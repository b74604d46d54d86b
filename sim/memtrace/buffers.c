/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See buffers.h.
 */
#include "memtrace/buffers.h"

#include "memtrace/pipe.h"

enum { BUFFER_WORDS = 32768 };

struct buffer {
    ULong *words; /* NULL: the thread has not run yet */
    Addr at;      /* unless it runs */
    UInt number;
};

struct buffer_position buffer_running;

static struct buffer *buffers; /* by thread */
static ThreadId running = VG_INVALID_THREADID;
static UInt threads_made;

void buffers_init(void)
{
    buffers = VG_(calloc)("memtrace.buffers", VG_N_THREADS, sizeof *buffers);
}

UInt buffers_thread_is_made(ThreadId thread)
{
    buffers[thread].number = threads_made++;
    return buffers[thread].number;
}

UInt buffers_number_of(ThreadId thread)
{
    return buffers[thread].number;
}

static struct buffer *buffer_of(ThreadId thread)
{
    struct buffer *buffer = &buffers[thread];

    if (buffer->words == NULL) {
        buffer->words = VG_(malloc)("memtrace.words", BUFFER_WORDS * sizeof *buffer->words);
        buffer->at = (Addr)buffer->words;
    }
    return buffer;
}

static Addr *position_of(ThreadId thread)
{
    return thread == running ? &buffer_running.at : &buffers[thread].at;
}

static void flush(ThreadId thread)
{
    struct buffer *buffer = &buffers[thread];
    Addr *at = position_of(thread);
    SizeT bytes;

    if (buffer->words == NULL)
        return;
    bytes = *at - (Addr)buffer->words;
    *at = (Addr)buffer->words;
    if (bytes > 0 && pipe_is_open)
        pipe_send(WIRE_EVENTS, buffer->number, buffer->words, bytes);
}

void buffers_make_room(void)
{
    flush(running);
}

void buffers_thread_goes_on(ThreadId thread)
{
    struct buffer *buffer;

    if (thread == running)
        return;
    if (running != VG_INVALID_THREADID)
        buffers[running].at = buffer_running.at;
    buffer = buffer_of(thread);
    buffer_running = (struct buffer_position){
        .at = buffer->at,
        .limit = (Addr)(buffer->words + BUFFER_WORDS - BUFFER_BLOCK_WORDS),
    };
    running = thread;
}

void buffers_append(ThreadId thread, struct wire_event *event)
{
    struct buffer *buffer = buffer_of(thread);
    Addr *at = position_of(thread);

    event->tag = WIRE_TAG(WIRE_WORD_EVENT) >> 32;
    if (*at >= (Addr)(buffer->words + BUFFER_WORDS - BUFFER_BLOCK_WORDS))
        flush(thread);
    VG_(memcpy)((void *)*at, event, sizeof *event);
    *at += sizeof *event;
}

void buffers_thread_ends(ThreadId thread)
{
    flush(thread);
    if (pipe_is_open)
        pipe_send(WIRE_THREAD_ENDS, buffers[thread].number, NULL, 0);
}

void buffers_flush(void)
{
    for (ThreadId thread = 1; thread < VG_N_THREADS; thread++)
        flush(thread);
}

void buffers_drop(void)
{
    for (ThreadId thread = 1; thread < VG_N_THREADS; thread++) {
        if (buffers[thread].words != NULL)
            *position_of(thread) = (Addr)buffers[thread].words;
    }
}
