/*
 * SPDX-License-Identifier: MIT
 *
 * What is counted, for each core. What a home or a memory controller does counts for the core on
 * whose behalf it is done. A controller has counts of its own of its reads and writes.
 */
#ifndef CHIP_COUNTS_H
#define CHIP_COUNTS_H

#include <stdint.h>

enum count {
    COUNT_ACCESSES,
    COUNT_L1_HITS,
    COUNT_L2_HITS,
    COUNT_LLC_HITS,         /* misses whose data a home gave; of an access, its first miss counts */
    COUNT_MEMORY_READS,     /* blocks that a controller gave */
    COUNT_COHERENCE_MISSES, /* misses whose data another core gave, or that needed tokens only */
    COUNT_MEMORY_WRITES,
    COUNT_ROW_HITS,      /* dram: accesses to memory that found their row open, */
    COUNT_ROW_MISSES,    /* none, */
    COUNT_ROW_CONFLICTS, /* or another one */
    COUNT_LATENCY,       /* cycles of all accesses together; of a controller, of its reads */
    COUNT_MESSAGES,      /* a multicast is one */
    COUNT_FLIT_HOPS,     /* flits times links; a multicast takes a link once */
    COUNT_SNOOPS,        /* lookups in a core's tags for another agent */
    COUNT_MULTICASTS,    /* messages to more than one agent */
    COUNT_DIRECTORY_ALLOCATIONS,
    COUNT_DIRECTORY_EVICTIONS,
    COUNT_DIRECTORY_INVALIDATIONS, /* private copies lost to those evictions */
    COUNT_RECONSTRUCTIONS,         /* flask: entries found again by asking all cores */
    COUNT_FILTER_TRUE_POSITIVES,   /* all cores asked, and one had it */
    COUNT_FILTER_FALSE_POSITIVES,  /* and none had */
    COUNT_FILTER_OVERFLOWS,
    /* For the energy. */
    COUNT_L2_LOOKUPS,
    COUNT_LLC_LOOKUPS,
    COUNT_LLC_BLOCKS, /* read or written */
    COUNT_DIRECTORY_LOOKUPS,
    COUNT_FILTER_LOOKUPS, /* and changes */
    COUNT_FLIT_ROUTERS,
    COUNTS
};

struct counts {
    uint64_t of[COUNTS];
};

#endif
