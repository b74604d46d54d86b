/*
 * SPDX-License-Identifier: MIT
 *
 * What a filter of either kind keeps. Only its own units look into it.
 */
#ifndef CHIP_FILTER_STORAGE_H
#define CHIP_FILTER_STORAGE_H

#include "chip/machine/machine.h"

enum { FILTER_ROW_BITS = 64 };

struct filter {
    bool is_dleft;
    uint32_t tables, tables_most;
    uint32_t hashes;  /* cbf */
    uint32_t size;    /* cbf: counters of a hash function; dleft: buckets of a table */
    uint32_t most;    /* the highest value of a counter */
    uint32_t cells;   /* dleft: of a bucket */
    uint32_t bits;    /* dleft: of a remainder */
    uint32_t shift;   /* bits of a block's number that choose the home */
    uint32_t *places; /* cbf: counters; dleft: remainder and counter of each cell */
    uint64_t factor[64], inverse[64]; /* dleft: the permutations of the tables */
};

#endif
