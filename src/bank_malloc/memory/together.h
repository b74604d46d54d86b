/*
 * SPDX-License-Identifier: MIT
 *
 * Chunks of one bank, wherever they are in the pool, as one block: their pages are moved (mremap)
 * to neighbouring addresses, frames and all, and back when the block goes. A piece that is moved
 * takes up to three of the process's mappings, one of them only while it moves. At most half of
 * vm.max_map_count is used for all pieces.
 *
 * Every function but together_find is called with arena.lock held.
 */
#ifndef MPLACE_BANK_TOGETHER_H
#define MPLACE_BANK_TOGETHER_H

#include "bank_malloc/memory/arena.h"

struct together_unit {
    uint32_t chunk;  /* whose pages are here; POOL_NONE: fresh memory */
    uint32_t length; /* of the block that begins here, in chunks; else 0 */
};

struct together {
    char *base;
    uint32_t most; /* units of a chunk's length that there may be; 0: nothing can be moved */
    /* Those that there are; only grows, and is read without the lock, as arena.recorded. */
    _Atomic uint32_t count;
    uint32_t pieces, pieces_most;
    char *tables;   /* of runs, as arena.tables */
    uint32_t fresh; /* blocks */
    struct runs runs;
    struct mapping_table units; /* a struct together_unit each */
};

extern struct together together;

/* After arena_start. Without addresses for it nothing can be moved. */
void together_start(void);

/*
 * In the child of a fork, after arena_start_child. Units of no block were kept for the next one, or
 * another thread was moving chunks there: they are free, and the chunks are without memory.
 */
void together_start_child(void);

static inline struct together_unit *together_unit(uint32_t unit)
{
    return (struct together_unit *)(void *)together.units.base + unit;
}

/* Whether a block of n chunks can be made now. */
bool together_can(uint32_t n);

/*
 * Makes a block of the n chunks that pool_take linked from first on; it begins at a multiple of
 * alignment chunks, a power of two. NULL: the kernel refused; each chunk is where it was, or was
 * released.
 */
char *together_make(uint32_t first, uint32_t n, uint32_t alignment);

/* Whether there is room for a block of fresh memory; the kernel may refuse it still. */
bool together_can_fresh(uint32_t n, uint32_t alignment);

/*
 * A block of as much fresh memory, of no known bank, in place of chunks that the pool has not got
 * together; NULL: the kernel refused.
 */
char *together_fresh(uint32_t n, uint32_t alignment);

/* Gives the chunks of the block that begins at that unit back to the pool. */
void together_undo(uint32_t unit);

/* Where the pages of a chunk are, moved or not. */
const char *together_where(uint32_t chunk);

/* The unit that the address is in; together.count or more: none. */
static inline size_t together_find(const void *address)
{
    return ((uintptr_t)address - (uintptr_t)together.base) >> arena.shift;
}

static inline char *together_address(uint32_t unit)
{
    return together.base + ((size_t)unit << arena.shift);
}

#endif
