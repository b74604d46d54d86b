/*
 * SPDX-License-Identifier: MIT
 *
 * What the report says, for the two forms that it is written in: text for people, JSON for
 * programs. docs/statistics.md describes both.
 */
#ifndef MPLACE_MUTEX_STATISTICS_OUTPUT_H
#define MPLACE_MUTEX_STATISTICS_OUTPUT_H

#include "base/report.h"
#include "mutex/statistics/lock_ranking.h"

struct statistics_facts {
    int process; /* whose locks these are */
    const char *library;
    const char *htm;
    const char *policy; /* NULL: the library does not elide */
    const char *wait;
    unsigned wanted; /* locks that were asked for */
    uint64_t uncounted;
    const struct lock_ranking *ranking;
};

void statistics_write_text(struct report *report, const struct statistics_facts *facts);
void statistics_write_json(struct report *report, const struct statistics_facts *facts);

#endif
