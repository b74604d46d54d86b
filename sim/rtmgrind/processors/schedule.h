/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What transactions add to the virtual processors: the turns of threads are drawn around two means,
 * one while any transaction is open, when threads have to interleave closely, and one while none
 * is; and interrupts come.
 */
#ifndef RTMGRIND_SCHEDULE_H
#define RTMGRIND_SCHEDULE_H

#include "program_calls/valgrind_api.h"

void schedule_init(void);

/* From here on another seed decides. If only one thread is there, what the process did before
 * leaves no trace, but for which code has been translated: when that happens, the core gives a
 * block back. */
void schedule_seed(ULong seed);

/* The running thread is about to enter translated code. False: not now, its transaction was just
 * aborted by an interrupt and it has to start from other code. */
Bool schedule_enter(Guest *guest);
void schedule_leave(const Guest *guest);

/* The running thread began a transaction: from here on processors switch at the other rate. */
void schedule_transaction_begun(Guest *guest);

/* Brings the interrupts' clock, which runs in transactions only, up to now. */
void schedule_count_blocks(const Guest *guest);

#endif
