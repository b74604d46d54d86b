/*
 * SPDX-License-Identifier: MIT
 *
 * The load, after memslap: threads that get, set and add. Each key has a length of its own, from 16
 * to 64 bytes; a value is a number and bytes that follow from it and the key, so that whoever finds
 * an item knows whether it is whole.
 */
#ifndef BENCH_CACHE_SERVER_LOAD_H
#define BENCH_CACHE_SERVER_LOAD_H

#include "tm_counts.h"

#include <stdint.h>

struct load {
    uint64_t threads, operations; /* operations of each thread */
    uint64_t keys, value_size;
    uint64_t sets, adds; /* percent; the rest are gets */
    uint64_t numbers;    /* keys of their own that are added to */
    uint64_t old_size;   /* of the values that fill the memory before, or 0 */
    uint64_t memory, hash_power, seed;

    /* Results: of the measured operations alone. */
    double seconds;
    uint64_t gets_done, hits, sets_done, adds_done;
    uint64_t evicted, pages_moved, expansions;
    struct tm_counts counts;
};

/* Fills the cache, runs the threads, and checks all of the cache. Returns NULL, or what is wrong.
 */
const char *load_run(struct load *load);

#endif
