/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Blocks of the heap, and who asked for them.
 */
#ifndef MEMTRACE_ALLOCATIONS_H
#define MEMTRACE_ALLOCATIONS_H

#include "program_calls/allocation_calls.h"

void allocations_init(void);
void allocations_entered(ThreadId thread, struct program_call *call);
void allocations_returned(ThreadId thread, const struct program_call *call, UWord result);

#endif
