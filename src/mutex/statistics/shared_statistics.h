/*
 * SPDX-License-Identifier: MIT
 *
 * What a lock library publishes for "mplace stats" (base/live_statistics.h): where its counts are,
 * and what its report says beside them. Addresses are those of the process that published it.
 */
#ifndef MPLACE_MUTEX_SHARED_STATISTICS_H
#define MPLACE_MUTEX_SHARED_STATISTICS_H

#include "base/live_statistics.h"
#include "mutex/statistics/lock_table.h"

struct live_locks {
    struct live_header header;
    uint64_t epoch;     /* address of statistics_epoch */
    uint64_t tables;    /* address of the pointer to the newest table */
    uint64_t uncounted; /* address of that count */
    uint64_t wanted;    /* MPLACE_LOCK_STATS_TOP */
    char htm[64];
    char policy[16]; /* empty: the library does not elide */
    char wait[16];
};

#endif
