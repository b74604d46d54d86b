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
#include "cia_malloc/hardened/quarantine.h"
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

static inline uint64_t live_cia_layout(void)
{
    const uint64_t numbers[] = {
        3, /* goes up when the meaning of something changes that sizes do not show */
        sizeof(struct live_cia),
        sizeof(struct huge_totals),
        sizeof(struct subheap),
        offsetof(struct subheap, pages),
        offsetof(struct subheap, large_live),
        offsetof(struct subheap, inbox.newest),
        offsetof(struct subheap, classes),
        offsetof(struct subheap, magazines),
        offsetof(struct subheap, quarantine),
        sizeof(struct quarantine),
        offsetof(struct quarantine, waiting),
        offsetof(struct huge, extent),
        HUGE_CACHE_SLOTS,
        sizeof(struct class_heap),
        offsetof(struct class_heap, live),
        offsetof(struct class_heap, allocations),
        offsetof(struct class_heap, capacity),
        offsetof(struct class_heap, untouched),
        sizeof(struct page_heap),
        offsetof(struct page_heap, used_pages),
        sizeof(struct magazine),
        MAGAZINE_TOP_BITS,
        SIZE_CLASS_COUNT,
        ALL_HEAPS,
        sizeof(struct chunk),
        offsetof(struct chunk, spans),
        offsetof(struct chunk, remotes),
        offsetof(struct span, size_class),
        offsetof(struct span, run_pages),
    };

    return live_layout(numbers, sizeof numbers / sizeof numbers[0]);
}

#endif
