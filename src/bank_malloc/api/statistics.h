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

/* Free memory as mallinfo2 counts it. Takes time in proportion to the pool. */
struct bank_free {
    size_t blocks; /* in slabs, kept for the next one of their length, and free chunks */
    size_t bytes;  /* of all of these */
};

/* Of blocks that other threads take or free meanwhile it may count some and not others. */
void bank_free_read(struct bank_free *free);

/* Writes what BANK_STATS=1 writes. */
void bank_report(struct report *report);

/* Reads BANK_STATS. For the constructor. */
void bank_statistics_start(void);

#endif
