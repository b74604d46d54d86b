/*
 * SPDX-License-Identifier: MIT
 *
 * "mplace stats --watch": a screen with keys as in top, or, where there is no terminal, a block of
 * lines a look.
 */
#ifndef MPLACE_STATS_READER_WATCH_H
#define MPLACE_STATS_READER_WATCH_H

#include "stats_reader/target.h"

#include <stdbool.h>

struct watch_options {
    double seconds; /* between looks */
    int most;       /* classes and locks; below 0: as many as fit */
    int most_locks; /* below 0: as many as classes */
};

/* The target was opened. Returns when the process has ended or become a program that publishes
 * nothing, when q was pressed, or when nobody reads standard output any more. */
void watch(struct target *target, const struct watch_options *options);

/* That it cannot be looked at any more, and why: a line on standard error. */
void watch_say_end(const struct target *target);

void watch_pause(double seconds);

/* Whoever read standard output has gone: nothing is written to find out by. */
bool watch_nobody_reads(void);

#endif
