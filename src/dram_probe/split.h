/*
 * SPDX-License-Identifier: MIT
 *
 * Whether latencies fall into two groups, and where they part.
 */
#ifndef MPLACE_DRAM_PROBE_SPLIT_H
#define MPLACE_DRAM_PROBE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct split {
    double fast, slow; /* the groups' means */
    double threshold;  /* half-way between them */
    size_t slow_count;
    double separation; /* between the means, in sums of both standard deviations */
};

/* Sorts the values. False: one group, or no values; then only the separation is set. */
bool split_find(uint32_t *values, size_t count, struct split *split);

#endif
