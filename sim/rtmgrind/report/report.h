/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tells when the program ends what happened to its transactions: as text, and as JSON.
 */
#ifndef RTMGRIND_REPORT_H
#define RTMGRIND_REPORT_H

#include "program_calls/output.h"
#include "rtmgrind/counts/sites.h"

void report_init(void);

void report_print(void);

/* The program becomes the one in this file, if it can: tells what this one did. */
void report_before_exec(const HChar *file);

void report_write_json(struct output *file, struct site **list, UInt count,
                       const struct site *total);

/* The member "sections" of the object, with a comma in front. */
void report_write_sections(struct output *file);

#endif
