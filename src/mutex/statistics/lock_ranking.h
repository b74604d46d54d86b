/*
 * SPDX-License-Identifier: MIT
 *
 * All threads' tables taken together: the totals, and the locks that cost most. For reports; maps
 * memory while it works, and other threads may go on counting.
 */
#ifndef MPLACE_MUTEX_LOCK_RANKING_H
#define MPLACE_MUTEX_LOCK_RANKING_H

#include "mutex/statistics/lock_table.h"

enum { LOCK_RANKING_MOST = 100 };

struct lock_ranking {
    struct lock_row total;
    /*
     * The first count locks by the larger of two shares: of the time that all threads waited, and
     * of all aborts. Locks without either follow by their acquisitions.
     */
    struct lock_row top[LOCK_RANKING_MOST];
    unsigned count;
    struct lock_row others; /* what is in total and not in top */

    uint64_t locks;  /* addresses with a row; 0 where the rows could not be merged */
    uint64_t tables; /* with counts in them: about the most threads at one time */
    uint64_t dropped_rows;
    uint64_t unattributed; /* acquisitions in rows 0 */
    bool merged;           /* false: no memory to merge the tables, top is empty */
};

/* Fills ranking from all tables of the epoch; wanted is LOCK_RANKING_MOST at most. */
void lock_ranking_make(struct lock_ranking *ranking, unsigned wanted, uint32_t epoch);

/* The sum over all rows of all tables of the epoch. */
void lock_ranking_total(struct lock_row *total, uint32_t epoch);

/* n per 10,000 of all; 0 of nothing. */
uint64_t lock_ranking_share(uint64_t n, uint64_t all);

#endif
