/*
 * SPDX-License-Identifier: MIT
 *
 * A hash table from the number of a block to a word. Open addressing with linear probing; what is
 * removed leaves no mark. Memory grows with the most blocks ever in it.
 */
#ifndef CHIP_BLOCK_MAP_H
#define CHIP_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_map_entry {
    uint64_t block, value; /* block UINT64_MAX: empty */
};

struct block_map {
    struct block_map_entry *entries;
    size_t used, mask; /* entries: mask + 1, or none */
};

/* A map of all zeroes is empty. */
void block_map_destroy(struct block_map *map);

/* The block's word, or NULL. Valid until the next block is added or removed. */
uint64_t *block_map_find(const struct block_map *map, uint64_t block);

/* The block's word; 0 if it is new. Ends the process with one line if there is no memory. */
uint64_t *block_map_add(struct block_map *map, uint64_t block);

void block_map_remove(struct block_map *map, uint64_t block);

/* Mixes all bits of a block's number: a finalizer of MurmurHash3. */
static inline uint64_t block_map_hash(uint64_t block)
{
    block ^= block >> 33;
    block *= 0xff51afd7ed558ccdull;
    block ^= block >> 33;
    block *= 0xc4ceb9fe1a85ec53ull;
    return block ^ block >> 33;
}

#endif
