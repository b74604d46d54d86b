/*
 * SPDX-License-Identifier: MIT
 *
 * The pool: chunks of one length, each of one controller and bank, and Algorithm 1 of V. Chandru,
 * F. Mueller, "Reducing NoC and Memory Contention for Manycores", ARCS 2016, which says where a
 * block of some chunks comes from. Knows no addresses and makes no system calls.
 *
 * As in the paper each free chunk is in two structures: the list of its bank, and the contiguous
 * runs of all free chunks. One thing is better than there: a bank gives any number of its chunks
 * for one block, wherever they are, if the caller can make them contiguous (is_movable). So a bank
 * has a block of n chunks exactly if n of its chunks are free.
 *
 * An operation takes time proportional to the chunks of the block, whatever the pool's size; one
 * that falls back looks at the free memory of each bank besides. Not thread-safe.
 */
#ifndef MPLACE_BANK_POOL_H
#define MPLACE_BANK_POOL_H

#include "bank_malloc/pool/runs.h"

enum pool_mode {
    POOL_RESTRICTED = 1 << 0,   /* another bank of the controller, most free memory first */
    POOL_UNRESTRICTED = 1 << 1, /* controllers, and the banks of each, most free memory first */
    POOL_SPLIT = 1 << 2,        /* a contiguous run, whatever its banks */
    POOL_ALL_MODES = POOL_RESTRICTED | POOL_UNRESTRICTED | POOL_SPLIT
};

/* Where a block came from: the step of Algorithm 1 that found it. */
enum pool_source {
    POOL_FULL, /* there is none */
    POOL_FROM_BANK,
    POOL_FROM_CONTROLLER,
    POOL_FROM_ELSEWHERE,
    POOL_FROM_RUN
};

enum { POOL_NONE = RUNS_NONE, POOL_COLOURS_MOST = 4096 };

struct pool_bank {
    uint32_t first; /* free chunk, plus 1; 0: none */
    uint32_t free;  /* chunks */
    uint32_t owned; /* chunks, free or not */
};

/* A colour is a controller and a bank as one number: controller * banks + bank. One more, the last,
   is that of chunks that are of no one bank: only runs have them. */
struct pool {
    uint32_t capacity; /* chunk numbers are below it */
    uint32_t controllers, banks;
    struct pool_bank *bank;    /* of each colour */
    uint32_t *controller_free; /* chunks */
    uint32_t *next, *previous; /* of a free chunk in its bank's list, plus 1; next also links
                                  the chunks of a block just taken */
    uint16_t *colour;          /* of each chunk that was ever added */
    struct runs runs;          /* of free chunks, over all banks */
};

struct pool_request {
    uint32_t controller, bank, chunks; /* chunks >= 1 */
    unsigned modes;
    bool is_movable; /* chunks of a bank need not be neighbours */
};

/* POOL_FROM_RUN: chunks first, first + 1, ...; the others: first, pool_next(first), ..., all of
   one bank. */
struct pool_block {
    enum pool_source source;
    uint32_t first;
};

/* Besides runs_used_bytes(capacity), for the set of chunks that are not free.
   controllers * banks <= POOL_COLOURS_MOST; capacity < POOL_NONE. */
size_t pool_bytes(uint32_t capacity, uint32_t controllers, uint32_t banks);

/* A pool without chunks, in memory of these sizes that is all zero. */
void pool_init(struct pool *pool, uint32_t capacity, uint32_t controllers, uint32_t banks,
               void *used, void *zeroed);

/* The same pool with room for more chunks, in such memory. */
void pool_extend(struct pool *pool, uint32_t capacity, void *used, void *zeroed);

/* Adds a free chunk that is not in the pool; one of no bank with controller `controllers`, bank 0.
 */
void pool_add(struct pool *pool, uint32_t chunk, uint32_t controller, uint32_t bank);

/* Removes one that is in it: free, or taken (is_free says which). */
void pool_remove(struct pool *pool, uint32_t chunk, bool is_free);

/* Algorithm 1. With source POOL_FULL nothing was taken. */
struct pool_block pool_take(struct pool *pool, const struct pool_request *request);

/* Its last step alone: n chunks in a row, of whatever banks, from the shortest run that has them;
   the first, or POOL_NONE. */
uint32_t pool_take_run(struct pool *pool, uint32_t n);

/* The next chunk of a block of one bank that was just taken; POOL_NONE behind the last. */
static inline uint32_t pool_next(const struct pool *pool, uint32_t chunk)
{
    return pool->next[chunk] - 1 < POOL_NONE ? pool->next[chunk] - 1 : (uint32_t)POOL_NONE;
}

/* Gives back one taken chunk. */
void pool_give(struct pool *pool, uint32_t chunk);

static inline bool pool_is_free(const struct pool *pool, uint32_t chunk)
{
    return runs_is_free(&pool->runs, chunk);
}

static inline uint32_t pool_colour(const struct pool *pool, uint32_t controller, uint32_t bank)
{
    return controller * pool->banks + bank;
}

#endif
