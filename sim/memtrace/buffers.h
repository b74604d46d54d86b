/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each thread did and has not been sent yet, in words that wire.h describes. Translated code
 * appends to the running thread's buffer on its own.
 *
 * Threads of the trace are numbered in the order in which they are made; what the core calls
 * ThreadId is used again.
 */
#ifndef MEMTRACE_BUFFERS_H
#define MEMTRACE_BUFFERS_H

#include "memtrace/memtrace.h"
#include "memtrace/wire.h"

/* For translated code: the next word of the running thread, and from where on there is not enough
 * room for the words of a block, which are at most so many. */
struct buffer_position {
    Addr at, limit;
};
extern struct buffer_position buffer_running;

enum { BUFFER_BLOCK_WORDS = 8192 };

/* For translated code: sends what the running thread has, for room. */
void buffers_make_room(void);

void buffers_init(void);

/* A thread was made, or the first one is there; it has this number from now on. */
UInt buffers_thread_is_made(ThreadId thread);
UInt buffers_number_of(ThreadId thread);

/* It has nothing more to tell. */
void buffers_thread_ends(ThreadId thread);

/* It goes on: translated code writes to its buffer. */
void buffers_thread_goes_on(ThreadId thread);

/* Appends an event; its tag is set here. */
void buffers_append(ThreadId thread, struct wire_event *event);

/* Sends what all threads have. */
void buffers_flush(void);

/* Drops it. */
void buffers_drop(void);

#endif
