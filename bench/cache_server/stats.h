/*
 * SPDX-License-Identifier: MIT
 *
 * Counts of the whole cache, under the statistics lock, and of each worker, under a lock of its
 * own.
 */
#ifndef BENCH_CACHE_SERVER_STATS_H
#define BENCH_CACHE_SERVER_STATS_H

#include "branch.h"

enum { THREADS_MOST = 256, SLAB_CLASSES_MOST = 48 };

struct stats {
    uint64_t current_bytes, current_items, total_items;
    uint64_t hash_expansions, pages_moved;
    bool hash_is_expanding, rebalance_is_running;
};

struct thread_stats {
    pthread_mutex_t mutex;
    uint64_t get_commands, get_misses, delta_commands, delta_misses;
    uint64_t set_commands[SLAB_CLASSES_MOST], get_hits[SLAB_CLASSES_MOST];
} __attribute__((aligned(64)));

extern struct stats stats;
extern struct thread_stats thread_stats[THREADS_MOST];

void stats_init(void);

#endif
