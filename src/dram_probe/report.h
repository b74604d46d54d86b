/*
 * SPDX-License-Identifier: MIT
 *
 * What a search found, as a map file and as lines for people.
 */
#ifndef MPLACE_DRAM_PROBE_REPORT_H
#define MPLACE_DRAM_PROBE_REPORT_H

#include "dram_probe/search.h"

#include <stdio.h>

/* where: "this machine", or what was searched in its place. */
struct report_facts {
    const char *where;
    unsigned long long seed;
    bool virtual_machine;
};

/* A map file; the comments at its head say where it is from. */
void report_map(FILE *file, const struct report_facts *facts, const struct search_result *result);

/* One line on standard error of what was found, and how sure it is; or why nothing was. */
void report_found(const struct report_facts *facts, const struct search_result *result);
void report_failure(const struct report_facts *facts, enum search_verdict verdict,
                    const struct search_result *result);

#endif
