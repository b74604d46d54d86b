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

/* What mallinfo2 says: the pool besides, and all that is free in it. */
struct bank_memory {
    struct bank_totals totals;
    size_t free_blocks; /* in slabs, kept for the next one of their length, and free chunks */
    size_t free_bytes;  /* of all of these; at most totals.pool_bytes */
};

/*
 * Takes time in proportion to the pool, which is locked meanwhile. Of blocks in slabs that other
 * threads take or free meanwhile it may count some and not others.
 */
void bank_memory_read(struct bank_memory *memory);

/* Writes what BANK_STATS=1 writes. */
void bank_report(struct report *report);

/* Reads BANK_STATS. For the constructor. */
void bank_statistics_start(void);

#endif
