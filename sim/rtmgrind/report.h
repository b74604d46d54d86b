/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counts what happens to transactions, and tells it when the program ends.
 */
#ifndef RTMGRIND_REPORT_H
#define RTMGRIND_REPORT_H

#include "transaction.h"

void report_started(Addr begin);
void report_committed(void);

/* Called while the transaction is still whole: its lines and caches can be looked at. */
void report_aborted(const struct transaction *transaction, const struct abort_event *event);

void report_print(void);

#endif
