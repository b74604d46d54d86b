/*
 * SPDX-License-Identifier: MIT
 *
 * Which units of a row are free, and where a run of n free units is: of the runs that are long
 * enough one of the shortest. Taking and giving n units takes time proportional to n, whatever the
 * length of the row: a set of the used units finds the ends of a run, and a set of the lengths that
 * some run has finds the list of runs of the best length.
 *
 * Invariant: two free runs never touch; each is in the list of its length, and length[] of its
 * first unit is right. Of other units length[] and the links mean nothing.
 */
#ifndef MPLACE_BANK_RUNS_H
#define MPLACE_BANK_RUNS_H

#include "bank_malloc/pool/bit_index.h"

#include <stdbool.h>

enum { RUNS_NONE = BIT_INDEX_NONE };

struct runs {
    uint32_t count;           /* units */
    struct bit_index used;    /* units that are not free */
    struct bit_index lengths; /* that a run has */
    uint32_t *first;          /* of each length, its list's first run, plus 1; 0: none */
    uint32_t *length;         /* of each run, at its first unit */
    uint32_t *next, *previous;
};

/* Bytes that count units take: for the set of used ones, and besides. */
size_t runs_used_bytes(uint32_t count);
size_t runs_bytes(uint32_t count);

/* A row of used units, in memory of these sizes that is all zero. count < RUNS_NONE. */
void runs_init(struct runs *runs, uint32_t count, void *used, void *zeroed);

/*
 * The same of a row in whose set of used units the first level is right: all that the child of a
 * fork can trust of a row that another thread was changing.
 */
void runs_restore(struct runs *runs, uint32_t count, void *used, void *zeroed);

/* A longer row in such memory, all zero; the units behind the old ones are used. */
void runs_extend(struct runs *runs, uint32_t count, void *used, void *zeroed);

/* Takes n >= 1 units in a row; returns the first, or RUNS_NONE if no run is that long. */
uint32_t runs_take(struct runs *runs, uint32_t n);

/* Takes these units, all of which are free. */
void runs_take_at(struct runs *runs, uint32_t first, uint32_t n);

/* Gives back these units, all of which are used. */
void runs_give(struct runs *runs, uint32_t first, uint32_t n);

static inline bool runs_is_free(const struct runs *runs, uint32_t unit)
{
    return !bit_index_has(&runs->used, unit);
}

/* The length of the longest run that runs_take would find for n: 0 or at least n. */
uint32_t runs_fit(const struct runs *runs, uint32_t n);

#endif
