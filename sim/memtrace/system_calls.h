/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * System calls that a trace tells of: futexes outside of watched calls, msync, and execve, by which
 * the trace ends. And what they mean for the turns of threads.
 */
#ifndef MEMTRACE_SYSTEM_CALLS_H
#define MEMTRACE_SYSTEM_CALLS_H

#include "memtrace/memtrace.h"

void system_calls_init(void);
void system_call_before(ThreadId thread, UInt number, UWord *arguments, UInt count);
void system_call_after(ThreadId thread, UInt number, UWord *arguments, UInt count, SysRes result);

#endif
