/*
 * SPDX-License-Identifier: MIT
 *
 * The measured interval; see interval.h. The clock is read innermost, so that it times none of the
 * bookkeeping around it.
 */
#include "harness/interval.h"

#include <dlfcn.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void interval_prepare(struct interval *interval)
{
    *interval = (struct interval){.counters = NULL};
    *(void **)&interval->statistics_reset = dlsym(RTLD_DEFAULT, "mplace_lock_statistics_reset");
    *(void **)&interval->statistics_read = dlsym(RTLD_DEFAULT, "mplace_lock_statistics");
}

void interval_begin(struct interval *interval)
{
    if (interval->statistics_reset != NULL)
        interval->statistics_reset();
    counters_start(interval->counters);
    interval->begin_ns = now_ns();
}

void interval_end(struct interval *interval)
{
    uint64_t end_ns = now_ns();

    counters_stop(interval->counters);
    interval->nanoseconds = end_ns > interval->begin_ns ? end_ns - interval->begin_ns : 1;
    interval->has_lock_statistics =
        interval->statistics_read != NULL &&
        interval->statistics_read(&interval->lock_statistics, sizeof interval->lock_statistics) ==
            0;
}
