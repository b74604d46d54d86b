/*
 * SPDX-License-Identifier: MIT
 *
 * What libcia_malloc publishes for "mplace stats" (base/live_statistics.h): where its counts are.
 * Addresses are those of the process that published it.
 */
#ifndef MPLACE_CIA_SHARED_STATISTICS_H
#define MPLACE_CIA_SHARED_STATISTICS_H

#include "base/live_statistics.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/large/large.h"

struct live_cia {
    struct live_header header;
    uint64_t heap_table; /* ALL_HEAPS pointers to sub-heaps */
    uint64_t magazines;  /* CPU_HEAPS pointers to struct magazines, if sequences are used */
    uint64_t sequences;  /* address of magazine_sequences */
    uint64_t mapped_bytes;
    uint64_t colours;
    uint64_t huge; /* struct huge_totals */
    uint64_t kept; /* HUGE_CACHE_SLOTS pointers to records of mappings */
};

#endif
