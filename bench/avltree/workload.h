/*
 * SPDX-License-Identifier: MIT
 *
 * The AVL workload: one tree under one mutex, threads that insert, remove and look up random keys,
 * malloc and free inside the locked section; and the proof afterwards that nothing was lost.
 */
#ifndef BENCH_AVLTREE_WORKLOAD_H
#define BENCH_AVLTREE_WORKLOAD_H

#include "avltree/avl.h"
#include "harness/cores.h"
#include "harness/interval.h"
#include "harness/set_histogram.h"

#include <stdbool.h>
#include <stdint.h>

/* What a block begins with; whatever follows up to the size asked for is never touched. */
struct workload_node {
    struct avl_node links;
    uint32_t key;
    uint32_t value; /* written by whom: see value_of in workload.c */
};
enum { WORKLOAD_SIZE_LEAST = sizeof(struct workload_node) };

struct workload_plan {
    uint64_t size, keys, seed;
    uint64_t threads;
    uint64_t seconds;                        /* 0: count operations */
    uint64_t operations;                     /* of each thread; not used when seconds is not 0 */
    unsigned insert_percent, remove_percent; /* the rest are look-ups */
    const struct cores *cores;               /* thread i runs on cpu[i]; NULL: anywhere */
};

struct workload_result {
    uint64_t operations, inserted, replaced, removed, looked_up, found;
    uint64_t nodes_before, nodes_after;
};

/* Nodes in the tree at the start: half of the keys but one, 32767 of 65536. */
uint64_t workload_nodes(uint64_t keys);

/*
 * Allocates the nodes that the tree starts with, notes their sets in the histogram, makes the
 * threads, lets them go for the measured interval, and checks structure and content. Returns false
 * with a complaint (no line end) when memory or threads ran out or anything is wrong.
 */
bool workload_run(const struct workload_plan *plan, struct interval *interval,
                  struct set_histogram *histogram, struct workload_result *result, char *complaint,
                  size_t complaint_size);

#endif
