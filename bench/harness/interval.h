/*
 * SPDX-License-Identifier: MIT
 *
 * The measured interval: its length, and the lock's statistics and event counts of that interval
 * alone.
 */
#ifndef BENCH_HARNESS_INTERVAL_H
#define BENCH_HARNESS_INTERVAL_H

#include "harness/counters.h"
#include "mplace.h"

#include <stdbool.h>
#include <stdint.h>

struct interval {
    struct counters *counters;      /* the caller's, open; interval_prepare leaves NULL */
    void (*statistics_reset)(void); /* NULL without a lock library */
    int (*statistics_read)(struct mplace_lock_statistics *out, size_t out_size);
    uint64_t begin_ns;

    /* After interval_end: */
    uint64_t nanoseconds; /* at least 1 */
    bool has_lock_statistics;
    struct mplace_lock_statistics lock_statistics;
};

/* Looks up the lock library's functions. May allocate (the dynamic linker does). */
void interval_prepare(struct interval *interval);

/* counters must be set by then; begin and end allocate nothing. */
void interval_begin(struct interval *interval);
void interval_end(struct interval *interval);

#endif
