/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One transaction a virtual processor: how it begins and ends (transaction_state.h is what it
 * holds).
 *
 * Writes go to memory at once, the old bytes into the undo log. Nobody ever sees them before the
 * commit, because every access of others to such a line aborts this transaction first (conflict.c),
 * and because only one thread runs at a time.
 *
 * A transaction of the running thread aborts by dispatch_abort, which leaves the translated code at
 * once, in the middle of a block if need be. One of another thread is rolled back where it stands:
 * its registers lie complete in its guest state while it does not run.
 */
#ifndef RTMGRIND_TRANSACTION_H
#define RTMGRIND_TRANSACTION_H

#include "rtmgrind/common/transaction_state.h"

void transactions_init(void);

/* XBEGIN of the running thread, which is not in a transaction: state in `guest` is as before it. */
void transaction_begin(Int cpu, ThreadId thread, Guest *guest, Addr begin, Addr fallback);

/* The outermost XEND. */
void transaction_commit(struct transaction *transaction);

/* Memory and guest state are as after the abort when this returns. */
void transaction_abort(struct transaction *transaction, const struct abort_event *event);

/* Every active one but that of the given processor (-1: all of them). */
void transactions_abort_all(Int except_cpu, enum abort_cause cause);

#endif
