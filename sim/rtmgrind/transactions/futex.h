/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Threads that wait for a futex, and transactions that change its word.
 *
 * The kernel compares the word itself, when the emulation has let go of the thread: it can read
 * what a transaction of another thread just wrote and may take back. If it then does not sleep, no
 * harm is done: the thread looks again. If it does sleep, nobody would ever wake it. So whoever
 * takes such a write back wakes the sleepers; a futex may wake for no reason.
 */
#ifndef RTMGRIND_FUTEX_H
#define RTMGRIND_FUTEX_H

#include "rtmgrind/common/transaction_state.h"
#include "virtual_processors/futex_call.h"

void futex_init(void);

/* The word that the kernel may change for the call, or 0. */
Addr futex_word_written(const UWord *arguments);

/* The thread calls the kernel with these arguments of futex(2), and is back. */
void futex_called(ThreadId thread, const UWord *arguments);
void futex_returned(ThreadId thread);

/* In a forked child no other thread waits. */
void futex_forget(void);

/* The bytes that the transaction wrote are what they were before it. */
void futex_put_back(const struct transaction *transaction);

#endif
