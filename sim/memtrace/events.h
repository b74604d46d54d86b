/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events that do not come from translated code.
 */
#ifndef MEMTRACE_EVENTS_H
#define MEMTRACE_EVENTS_H

#include "memtrace/objects.h"
#include "trace/trace.h"

/* Appends an event of a thread; nothing if the capture is over. */
void events_append(ThreadId thread, const struct trace_event *event);

/* A post at an object. Returns its number. */
struct post events_post(ThreadId thread, enum trace_call what, Addr address, UInt site);

/* A wait that the post ended; none if it is no post, or one of the thread itself. */
void events_wait(ThreadId thread, enum trace_call what, Addr address, UInt site, struct post post);

/* A new thread begins to count its posts. */
void events_thread_is_made(ThreadId thread);

#endif
