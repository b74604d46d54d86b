/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See transaction_state.h.
 */
#include "rtmgrind/common/transaction_state.h"

struct transaction *transactions;
UInt transactions_active;
Addr transactions_mark;
struct transaction *transaction_running;
void (*abort_transaction)(struct transaction *, const struct abort_event *);

void transaction_make_room_for_undo(struct transaction *transaction)
{
    transaction->undo_room = transaction->undo_room == 0 ? 64 : transaction->undo_room * 2;
    transaction->undo = VG_(realloc)("rtm.undo", transaction->undo,
                                     transaction->undo_room * sizeof *transaction->undo);
}
