/*
 * SPDX-License-Identifier: MIT
 *
 * The sums of all sub-heaps and mappings.
 */
#ifndef MPLACE_CIA_TOTALS_H
#define MPLACE_CIA_TOTALS_H

#include <stddef.h>
#include <stdint.h>

struct cia_totals {
    uint64_t allocations; /* blocks ever handed out */
    uint64_t live_blocks; /* of all sizes */
    size_t live_bytes;    /* of those blocks, as rounded to their classes */
    /* Blocks that were handed out and are back, kept for the next malloc; on
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

#endif
