/*
 * SPDX-License-Identifier: MIT
 *
 * What is in use, for mallinfo2, malloc_info, malloc_stats, the report of CIA_STATS at exit, and
 * other processes (MPLACE_STATS_LIVE).
 */
#ifndef MPLACE_CIA_STATISTICS_H
#define MPLACE_CIA_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

struct cia_totals {
    uint64_t allocations; /* blocks ever handed out */
    uint64_t live_blocks; /* of all sizes */
    size_t live_bytes;    /* of those blocks, as rounded to their classes */
    /* Blocks that were handed out and are back, kept for the next malloc; of tiny blocks and on
       pages used before, those never handed out too. Those of up to 1 KiB are the short ones. */
    uint64_t free_blocks, short_free_blocks;
    size_t short_free_bytes;
    size_t run_bytes;   /* pages in runs: live blocks and free ones between them */
    size_t dirty_bytes; /* pages in no run, kept for the next one */
    size_t chunk_bytes; /* address space of all chunks */
    size_t huge_bytes;  /* mappings that are one block */
    size_t huge_blocks;
    size_t kept_bytes;   /* mappings without a block, kept for the next one */
    size_t mapped_bytes; /* all address space taken, metadata included */
    uint32_t subheaps;
    uint32_t chunks;
    uint32_t passed_over; /* sub-heaps not counted because their holder did not let go */
};

/* Locks one sub-heap after the other, and takes in what other threads freed to it. */
void cia_totals_read(struct cia_totals *totals);

struct report;

/* The text of malloc_stats. */
void cia_report(struct report *report);

/* Reads the settings: publishes where the counts are when MPLACE_STATS_LIVE asks for that, and at
 * exit writes the report when CIA_STATS does. */
void cia_statistics_start(void);

#endif
