/*
 * SPDX-License-Identifier: MIT
 *
 * Figures in the text format of Prometheus (exposition format 0.0.4), for node_exporter's textfile
 * collector and whatever else reads it. docs/statistics.md has the names.
 */
#ifndef MPLACE_STATS_READER_PROMETHEUS_H
#define MPLACE_STATS_READER_PROMETHEUS_H

#include "stats_reader/look.h"
#include "stats_reader/place.h"

#include <stdio.h>

struct shown_process {
    int process;
    char program[64];
    struct look look;
    char places[LOCK_RANKING_MOST][PLACE_ROOM]; /* of look.locks.ranking.top: first locked by */
};

/* Metric by metric, each of all processes: the format wants what has one name together. */
void prometheus_write(FILE *out, struct shown_process *const *processes, unsigned count);

#endif
