/*
 * SPDX-License-Identifier: MIT
 *
 * A fully associative cache with true LRU: what a cache of so many lines holds when no line has to
 * lie in a set. What misses in a set-associative cache of the same size and not here misses for the
 * place that it has, not for the cache's size.
 *
 * Constant time however many lines it holds: a hash table finds the line, a list knows the order.
 * Plain C without a libc, as cache_model.h: memory is the caller's, nothing is called, no locking.
 */
#ifndef SIM_FULL_LRU_H
#define SIM_FULL_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place for a line. Places are numbered from 1; 0 is none, so that place 0 is the ends of the
 * list: its `older` is the newest line, its `newer` the oldest. */
struct full_lru_place {
    uint64_t line;
    uint32_t newer, older;
    uint32_t next; /* in the chain of its bucket */
};

struct full_lru {
    uint32_t lines, used;
    uint32_t shift;   /* 64 less the bits of a bucket's number */
    uint32_t *bucket; /* the first place of each chain */
    struct full_lru_place *place;
};

/* The bytes of memory, aligned to 8, for a cache of so many lines, from 1 to 2^24. */
size_t full_lru_bytes(uint32_t lines);

/* An empty cache. The memory is its own until the caller forgets it. */
void full_lru_init(struct full_lru *cache, uint32_t lines, void *memory);

/* The line, named by any number, is used: brought in if it is not there, for the one not used for
 * longest where there is no room. Whether it was there. */
bool full_lru_access(struct full_lru *cache, uint64_t line);

#endif
