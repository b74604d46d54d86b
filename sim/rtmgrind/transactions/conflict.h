/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which transaction holds which line: a directory for all processors, asked at every access while
 * any transaction is active. The requester wins: whoever comes to a line that a transaction holds
 * in a way that does not go together aborts that transaction, be it itself in one or not.
 */
#ifndef RTMGRIND_CONFLICT_H
#define RTMGRIND_CONFLICT_H

#include "rtmgrind/common/transaction_state.h"

void conflict_init(void);

/* An access outside of transactions, by the running thread or by the kernel for it. */
void conflict_plain(Addr address, SizeT size, Bool store, Addr instruction);

/* The line becomes part of the transaction's read set, or of its write set; others that hold it are
 * aborted. `data` is the address accessed, in the line. The undo entry stays where it is until the
 * next call. */
void conflict_claim_load(struct transaction *transaction, Addr line, Addr data, Addr instruction);
struct undo *conflict_claim_store(struct transaction *transaction, Addr line, Addr data,
                                  Addr instruction);

/* The undo entry of a line that this transaction has claimed for writing. */
struct undo *conflict_undo_of(const struct transaction *transaction, Addr line);

/* Commit or abort: gives all its lines back. */
void conflict_release(struct transaction *transaction);

#endif
