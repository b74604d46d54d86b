/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory of system calls that threads are in now.
 *
 * A call may take long, and the kernel reads and writes the memory that it was given at moments
 * that the emulation does not see. What a transaction stores there meanwhile, the kernel could read
 * before it is committed; and what the kernel writes over it, an abort would take for the
 * transaction's own and put back. So a transaction does not survive a store to such bytes. Its
 * status says that another attempt is no use, for the call may last.
 *
 * A line is asked for once, when the transaction claims it: a call that begins later comes to the
 * transaction's lines as a conflict.
 */
#ifndef RTMGRIND_IN_FLIGHT_H
#define RTMGRIND_IN_FLIGHT_H

#include "program_calls/valgrind_api.h"

/* The thread's call reads or writes these bytes; all of its bytes are forgotten at its end. */
void in_flight_add(ThreadId thread, Addr address, SizeT size);
void in_flight_end(ThreadId thread);

/* In a forked child no other thread is in a call. */
void in_flight_forget(void);

extern UInt in_flight_used;
Bool in_flight_search(Addr address, SizeT size);

/* Some of the bytes belong to a call of another thread. */
static inline Bool in_flight(Addr address, SizeT size)
{
    return UNLIKELY(in_flight_used != 0) && in_flight_search(address, size);
}

#endif
