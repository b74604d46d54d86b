/*
 * SPDX-License-Identifier: MIT
 *
 * What is in use, for mallinfo2, malloc_info, malloc_stats, the report of CIA_STATS at exit, and
 * other processes (MPLACE_STATS_LIVE).
 */
#ifndef MPLACE_CIA_STATISTICS_H
#define MPLACE_CIA_STATISTICS_H

#include "cia_malloc/statistics/totals.h"

/* Locks one sub-heap after the other, and takes in what other threads freed to it. */
void cia_totals_read(struct cia_totals *totals);

/*
 * One figure, by its name or key (figures.h); -1: there is none of that name. As cia_totals_read;
 * allocates nothing, preserves errno, and may be called in a signal handler: a sub-heap that the
 * interrupted code holds is not counted.
 */
int64_t cia_statistics_value(const char *name);

struct report;

/* The text of malloc_stats. */
void cia_report(struct report *report);

/* Reads the settings: publishes where the counts are when MPLACE_STATS_LIVE asks for that, and at
 * exit writes the report when CIA_STATS does. */
void cia_statistics_start(void);

#endif
