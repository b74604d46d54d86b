/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The critical sections of a program under an elided lock (--sections). An entry of a section is an
 * acquisition of a lock outside of any transaction. It tries as often as the lock library does; it
 * ends with a commit, or it holds the lock physically until the unlock. Its instructions are
 * counted by thread: those of attempts that aborted, those under the lock, and of these the ones
 * while another thread waited for it.
 *
 * Without the option, nothing here does anything.
 */
#ifndef RTMGRIND_SECTIONS_H
#define RTMGRIND_SECTIONS_H

#include "program_calls/lock_calls.h"
#include "rtmgrind/common/transaction_state.h"

/* Transactions outside of any lock call that is seen, as those of locks inside of malloc. */
extern ULong sections_unseen;

void sections_init(void);
void sections_reset(void);
void sections_thread_is_new(ThreadId thread);

/* Calls of locks, as they are entered and as they return. */
void sections_entered(ThreadId thread, struct program_call *call);
void sections_returned(ThreadId thread, const struct program_call *call, UWord result);

/* The thread's outermost transaction begins, has committed, is about to be rolled back. */
void sections_begun(ThreadId thread);
void sections_committed(ThreadId thread);
void sections_aborted(struct transaction *transaction, const struct abort_event *event);

/* Outside of transactions. Its address is two bytes before the thread's next instruction. */
void sections_system_call(ThreadId thread, UInt number, const UWord *arguments);

#endif
