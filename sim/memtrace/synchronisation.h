/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What calls of pthread, C11 threads and POSIX semaphores mean for who waits for whom.
 */
#ifndef MEMTRACE_SYNCHRONISATION_H
#define MEMTRACE_SYNCHRONISATION_H

#include "memtrace/memtrace.h"
#include "program_calls/allocation_calls.h"

/* The kind of a watched call of this name, ALLOCATION_KINDS or more; else PROGRAM_CALL_NONE. */
Int synchronisation_kind_of(const HChar *name);

void synchronisation_entered(ThreadId thread, struct program_call *call);
void synchronisation_returned(ThreadId thread, const struct program_call *call, UWord result);

#endif
