/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Into translated code and out of it.
 */
#ifndef RTMGRIND_DISPATCH_H
#define RTMGRIND_DISPATCH_H

#include "rtmgrind/transactions/transaction.h"

/* Called by a helper of translated code: aborts the transaction of the running thread and goes back
 * to the scheduler, which goes on where the guest's registers say. What the block had left to do is
 * not done. */
void dispatch_abort(const struct abort_event *event) __attribute__((noreturn));

#endif
