/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events that do not come from translated code.
 */
#ifndef MEMTRACE_EVENTS_H
#define MEMTRACE_EVENTS_H

#include "memtrace/objects.h"
#include "trace/trace.h"

/* The thread goes on: before what it does next there is the turn's end of the thread that ran until
   then. Only with values, whose order of all threads says what memory holds. */
void events_thread_goes_on(ThreadId thread);

/* Appends an event of a thread, which has its turn; nothing if the capture is over. */
void events_append(ThreadId thread, const struct trace_event *event);

/* A post at an object. Returns its number. */
struct post events_post(ThreadId thread, enum trace_call what, Addr address, UInt site);

/* A wait that the post ended; none if it is no post, or one of the thread itself. */
void events_wait(ThreadId thread, enum trace_call what, Addr address, UInt site, struct post post);

/* A new thread begins to count its posts. */
void events_thread_is_made(ThreadId thread);

/* The post was the thread's last event. */
void events_thread_ends(ThreadId thread, struct post last);

#endif
