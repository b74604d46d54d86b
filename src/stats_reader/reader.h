/*
 * SPDX-License-Identifier: MIT
 *
 * From the pages that a process publishes to what the libraries' own reports are written from. A
 * process that runs meanwhile gives numbers of slightly different moments; one that is stopped, or
 * sleeps, gives exact ones.
 */
#ifndef MPLACE_STATS_READER_READER_H
#define MPLACE_STATS_READER_READER_H

#include "cia_malloc/statistics/summary.h"
#include "mutex/statistics/output.h"
#include "mutex/statistics/shared_statistics.h"
#include "stats_reader/target.h"

/* False: the process is gone, or the page is not what it should be. The page is one whose layout is
 * ours. */
bool read_cia(const struct target *target, uint64_t page, struct cia_summary *summary);

struct lock_report {
    struct live_locks live;
    struct lock_ranking ranking;
    struct statistics_facts facts;
};

/* most: how many locks one by one; below 0: as many as the process would show. */
bool read_locks(const struct target *target, uint64_t page, int most, struct lock_report *report);

#endif
