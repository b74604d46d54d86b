/*
 * SPDX-License-Identifier: MIT
 *
 * The measured interval: its length, and the lock's statistics and event counts of that interval
 * alone. Neither begin nor end allocates.
 */
#ifndef BENCH_HARNESS_INTERVAL_H
#define BENCH_HARNESS_INTERVAL_H

#include "harness/counters.h"
#include "mplace.h"

#include <stdbool.h>
#include <stdint.h>

struct interval {
    struct counters *counters;
    void (*statistics_reset)(void); /* NULL without a lock library */
    int (*statistics_read)(struct mplace_lock_statistics *out, size_t out_size);
    uint64_t begin_ns;

    /* After interval_end: */
    uint64_t nanoseconds; /* at least 1 */
    bool has_lock_statistics;
    struct mplace_lock_statistics lock_statistics;
};

/* Looks up the lock library's functions; may allocate, so call it before the first node. */
void interval_prepare(struct interval *interval, struct counters *counters);
void interval_begin(struct interval *interval);
void interval_end(struct interval *interval);

#endif
