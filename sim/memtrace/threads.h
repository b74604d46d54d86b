/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Threads begin, end, and are joined.
 */
#ifndef MEMTRACE_THREADS_H
#define MEMTRACE_THREADS_H

#include "memtrace/memtrace.h"

void threads_init(void);

/* The parent makes a thread; VG_INVALID_THREADID: nobody, it is the first one. */
void threads_made(ThreadId parent, ThreadId thread);

/* It is about to execute its first instruction. */
void threads_begins(ThreadId thread);
void threads_ends(ThreadId thread);

struct thread_record;

/* The thread that libc calls so; NULL: none is known. */
const struct thread_record *threads_known_as(UWord name);

/* `thread` has seen the other one's end. */
void threads_joined(ThreadId thread, const struct thread_record *ended, UInt site);

#endif
