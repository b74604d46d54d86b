/*
 * SPDX-License-Identifier: MIT
 *
 * The single figures of the allocator: the sums of all sub-heaps and mappings, and the one list of
 * what each is called, for JSON, for mplace_malloc_value and for "mplace stats --prometheus";
 * docs/statistics.md describes them.
 */
#ifndef MPLACE_CIA_FIGURES_H
#define MPLACE_CIA_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one type, so that a figure is found by where its field is. */
struct cia_totals {
    uint64_t allocations; /* blocks ever handed out */
    uint64_t live_blocks; /* of all sizes */
    uint64_t live_bytes;  /* of those blocks, as rounded to their classes */
    /* Blocks that were handed out and are back, kept for the next malloc; on
       pages used before, those never handed out too. Those of up to 1 KiB are the short ones. */
    uint64_t free_blocks, short_free_blocks, short_free_bytes;
    uint64_t run_bytes;   /* pages in runs: live blocks and free ones between them */
    uint64_t dirty_bytes; /* pages in no run, kept for the next one */
    uint64_t chunk_bytes; /* address space of all chunks */
    uint64_t huge_blocks; /* mappings that are one block */
    uint64_t huge_bytes;
    uint64_t kept_bytes;           /* mappings without a block, kept for the next one */
    uint64_t mapped_bytes;         /* all address space taken, metadata included */
    uint64_t anon_huge_page_bytes; /* AnonHugePages of the whole process: takes milliseconds to
                                      read, so 0 unless it is asked for */
    uint64_t subheaps;
    uint64_t subheaps_not_counted; /* because their holder did not let go */
    uint64_t chunks;
    uint64_t l1_colours;
};

struct cia_figure {
    const char *name; /* "bytes.allocated": mplace_malloc_value's */
    const char *key;  /* "live_bytes": JSON's, which mplace_malloc_value takes as well */
    size_t offset;    /* of the field of that name in struct cia_totals */
    const char *help; /* one line */
    bool counts;      /* it only ever grows */
};

enum { CIA_FIGURES = 14 };

extern const struct cia_figure cia_figures[CIA_FIGURES];

/* By its name or its key; NULL: there is none. */
const struct cia_figure *cia_figure_find(const char *name);

uint64_t cia_figure_value(const struct cia_figure *figure, const struct cia_totals *totals);

#endif
