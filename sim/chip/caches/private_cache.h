/*
 * SPDX-License-Identifier: MIT
 *
 * The two private levels of a core. Exclusive: a block is in one of them, and the second level
 * takes what leaves the first. Inclusive: the second level has all blocks of the first, and what
 * leaves it leaves both. The coherence state of a block is in one line, the one that
 * private_cache_find gives.
 *
 * A place is given to a block when the miss begins, so that what is evicted depends on the order of
 * the accesses alone and not on how long the misses take.
 */
#ifndef CHIP_PRIVATE_CACHE_H
#define CHIP_PRIVATE_CACHE_H

#include "chip/caches/array.h"

struct private_cache {
    struct array l1, l2;
    bool inclusive;
};

enum private_cache_place {
    PRIVATE_CACHE_L2,   /* the block was in the second level */
    PRIVATE_CACHE_NEW,  /* it was in none: its line is empty */
    PRIVATE_CACHE_FULL, /* the place to be given is waited for: nothing changed */
};

/* A block that left both levels. */
struct private_cache_victim {
    bool any;
    uint64_t block;
    struct line state;
};

/* The line that has the block's state, or NULL. */
struct line *private_cache_find(const struct private_cache *cache, uint64_t block);

/* Brings a block that is not in the first level there. */
enum private_cache_place private_cache_bring(struct private_cache *cache, uint64_t block,
                                             struct line **line,
                                             struct private_cache_victim *victim);

/* Empties the block's place or places. */
void private_cache_remove(struct private_cache *cache, uint64_t block);

#endif
