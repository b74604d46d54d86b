/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tells when the program ends what happened to its transactions: as text, and as JSON.
 */
#ifndef RTMGRIND_REPORT_H
#define RTMGRIND_REPORT_H

#include "transaction.h"

void report_init(void);
void report_print(void);

/* As a JSON string, with its quotes. */
void report_write_string(VgFile *file, const HChar *text);

const HChar *report_cause_name(enum abort_cause cause);

#endif
