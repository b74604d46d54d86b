/*
 * SPDX-License-Identifier: MIT
 *
 * What the transactions of tm_bench work on. Each operation is one transaction; all threads share
 * one structure.
 */
#ifndef BENCH_TRANSACTIONS_WORKLOAD_H
#define BENCH_TRANSACTIONS_WORKLOAD_H

#include <stdint.h>

/* Operations of 100: the rest look up. */
enum { INSERTS = 20, REMOVALS = 20 };

struct workload {
    const char *name;
    uint64_t keys; /* operations have keys from 0 to keys - 1 */

    /* Makes the structure; returns its size. Called before the threads, without a transaction. */
    int64_t (*create)(uint64_t seed);

    /* One transaction; returns what the structure has grown by: 1, 0 or -1. percent is from 0 to
       99 and says which operation. */
    int (*operate)(uint64_t key, unsigned percent);

    /* Returns NULL, or what is wrong: the structure itself, or that its size is another. */
    const char *(*check)(int64_t size);
};

extern const struct workload workload_counter, workload_list, workload_tree;

#endif
