/*
 * SPDX-License-Identifier: MIT
 *
 * BANK_STATS and the figures of the pool.
 */
#ifndef MPLACE_BANK_STATISTICS_H
#define MPLACE_BANK_STATISTICS_H

#include "base/report.h"

#include <stddef.h>

struct bank_totals {
    size_t pool_bytes; /* that the pool has got */
    size_t free_bytes; /* of whole chunks that no block or slab is on */
};

void bank_totals_read(struct bank_totals *totals);

/* Writes what BANK_STATS=1 writes. */
void bank_report(struct report *report);

/* Reads BANK_STATS. For the constructor. */
void bank_statistics_start(void);

#endif
