/*
 * SPDX-License-Identifier: MIT
 *
 * What is in use, for mallinfo2, malloc_info, malloc_stats, the report of CIA_STATS at exit, and
 * other processes (MPLACE_STATS_LIVE).
 */
#ifndef MPLACE_CIA_STATISTICS_H
#define MPLACE_CIA_STATISTICS_H

#include "cia_malloc/statistics/figures.h"

/* Locks one sub-heap after the other, and takes in what other threads freed to it. May be called in
   a signal handler: a sub-heap that the interrupted code holds is not counted. */
struct cia_totals cia_totals_read(void);

struct report;

/* Writes the text of malloc_stats, or JSON, and returns the sums in it. */
struct cia_totals cia_report(struct report *report, bool json);

/* Reads the settings: publishes where the counts are when MPLACE_STATS_LIVE asks for that, and at
 * exit writes the report when CIA_STATS does. */
void cia_statistics_start(void);

#endif
