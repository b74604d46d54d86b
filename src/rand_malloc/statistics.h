/*
 * SPDX-License-Identifier: MIT
 *
 * RAND_STATS: what was jittered, reported at exit. While it is off nothing is counted.
 */
#ifndef RAND_MALLOC_STATISTICS_H
#define RAND_MALLOC_STATISTICS_H

#include "rand_malloc/jitter.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads RAND_STATS, once; whether it asks for counts. */
bool statistics_start(void);

/* One request that may be jittered; extra is 0 where it was not. */
void statistics_count(size_t extra);

/* Starts the counts anew, in the child of a fork: a report is about one process. */
void statistics_reset(void);

/* One line to where RAND_STATS says. */
void statistics_report(const struct jitter *jitter, const char *next_object);

#endif
