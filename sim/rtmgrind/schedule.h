/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which thread runs next, and for how long: virtual processors on top of Valgrind's big lock.
 *
 * Valgrind runs one thread at a time, and the thread that holds the big lock is the one that runs.
 * This replaces that lock by a baton that is handed over on purpose. Each thread has a virtual
 * processor. After a random number of blocks a random processor with a ready thread goes on: that
 * is how the processors advance side by side. On one processor, threads take turns by time slice,
 * as under any kernel: changing to another thread there is a context switch and aborts the
 * transaction of the one that leaves. So there is at most one transaction a processor.
 *
 * All randomness comes from one seeded generator. What remains to chance is when a system call of
 * the host returns.
 */
#ifndef RTMGRIND_SCHEDULE_H
#define RTMGRIND_SCHEDULE_H

#include "valgrind_api.h"

void schedule_init(void);

/* The running thread is about to enter translated code. False: not now, its transaction was just
 * aborted by an interrupt and it has to start from other code. */
Bool schedule_enter(Guest *guest);
void schedule_leave(const Guest *guest);

/* The running thread began a transaction: from here on processors switch at the other rate. */
void schedule_transaction_begun(Guest *guest);

/* Brings the interrupts' clock, which runs in transactions only, up to now. */
void schedule_count_blocks(const Guest *guest);

/* The virtual processor of the running thread. */
Int schedule_cpu(void);

/* What the running thread does next: how it will give up the baton, if it does. For a call that
 * returns at once it does not, so that nothing depends on how fast the host is. */
void schedule_system_call(Bool begins, Bool returns_at_once);
void schedule_thread_exits(void);
void schedule_yields(void);

/*
 * How many threads have come to wait for the baton so far, and a wait until there are so many: for
 * threads that the running one has just started or woken, so that who can run next does not depend
 * on how fast the host is. Not for long, for some never come: those of another process.
 */
ULong schedule_arrivals(void);
void schedule_await(ULong arrivals);

/* The running thread may use these processors only; bits beyond --cpus are ignored. */
void schedule_set_affinity(ULong cpus);

#endif
