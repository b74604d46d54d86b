/*
 * SPDX-License-Identifier: MIT
 *
 * A set of numbers below a bound that finds the next and the previous member of any number: a bit a
 * number, and a bit for each word of 64 bits that is not zero, in levels up to one word. Every
 * operation touches at most two words a level; four levels hold 2^24 numbers.
 */
#ifndef MPLACE_BANK_BIT_INDEX_H
#define MPLACE_BANK_BIT_INDEX_H

#include <stddef.h>
#include <stdint.h>

enum {
    BIT_INDEX_LEVELS = 5,            /* up to 2^30 numbers */
    BIT_INDEX_BOUND = 1 << 30,       /* the greatest bound */
    BIT_INDEX_NONE = BIT_INDEX_BOUND /* "there is no such member" */
};

struct bit_index {
    uint32_t levels;
    uint64_t *level[BIT_INDEX_LEVELS]; /* level[0]: the members; level[k]: words of level[k - 1] */
};

/* Bytes that a set below that bound takes. */
size_t bit_index_bytes(uint32_t bound);

/* An empty set in memory of that size that is all zero. */
void bit_index_init(struct bit_index *set, uint32_t bound, void *zeroed);

/* Adds every number below the bound to a set that is empty. */
void bit_index_fill(struct bit_index *set, uint32_t bound);

/* Makes the levels above the first right: only the first is looked at. */
void bit_index_rebuild(struct bit_index *set, uint32_t bound);

/* Adds to a set that is empty what another below a lower bound has, and each number from that bound
   on. */
void bit_index_extend(struct bit_index *set, uint32_t bound, const struct bit_index *lower,
                      uint32_t lower_bound);

void bit_index_add(struct bit_index *set, uint32_t number);
void bit_index_remove(struct bit_index *set, uint32_t number);

static inline int bit_index_has(const struct bit_index *set, uint32_t number)
{
    return (int)(set->level[0][number / 64] >> number % 64 & 1);
}

/* The least member that is not below number (below the bound); BIT_INDEX_NONE if there is none. */
uint32_t bit_index_next(const struct bit_index *set, uint32_t number);

/* The greatest member that is not above number (below the bound); BIT_INDEX_NONE if there is none.
 */
uint32_t bit_index_previous(const struct bit_index *set, uint32_t number);

#endif
