/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who is to blame for a written line that did not fit: the set of the first-level cache that
 * overflowed, and the heap blocks whose lines filled it, by size and place of allocation.
 */
#ifndef RTMGRIND_BLAME_H
#define RTMGRIND_BLAME_H

#include "program_calls/output.h"
#include "rtmgrind/common/transaction_state.h"

void blame_reset(void);

/* To be called while the cache is as the abort found it. Causes other than write capacity are
 * ignored. */
void blame_abort(const struct transaction *transaction, const struct abort_event *event);

/* The `--top` sets with most overflows, and what filled them. Nothing if there was none. */
void blame_print_text(void);

/* The same as one member of a JSON object, with a comma in front. */
void blame_write_json(struct output *file);

#endif
