/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tells when the program ends what happened to its transactions: as text, and as JSON.
 */
#ifndef RTMGRIND_REPORT_H
#define RTMGRIND_REPORT_H

#include "sites.h"

void report_init(void);

/* Will somebody read one? */
static inline Bool report_is_wanted(void)
{
    return VG_(clo_verbosity) > 0 || options.output != NULL;
}

void report_print(void);

/* The program becomes the one in this file, if it can: tells what this one did. */
void report_before_exec(const HChar *file);

/* For those who write parts of it. */
const HChar *report_cause_name(enum abort_cause cause);
/* Address, function, file and line; good until the next call. */
const HChar *report_describe(Addr instruction);
/* The variable that the address belongs to, if it is known. */
Bool report_find_symbol(Addr data, const HChar **name, PtrdiffT *offset);
/* The address's set in the first-level cache. */
UInt report_set_of(Addr data);

void report_write_json(VgFile *file, struct site **list, UInt count, const struct site *total);
/* As a JSON string, with its quotes. */
void report_write_string(VgFile *file, const HChar *text);
/* As a member of an object, with a comma in front: a list, innermost first. Nothing if NULL. */
void report_write_stack(VgFile *file, const HChar *key, ExeContext *calls);

#endif
