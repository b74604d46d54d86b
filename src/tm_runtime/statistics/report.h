/*
 * SPDX-License-Identifier: MIT
 *
 * The report of what statistics.h counts.
 */
#ifndef TM_RUNTIME_STATISTICS_REPORT_H
#define TM_RUNTIME_STATISTICS_REPORT_H

#include "base/report.h"

struct report_facts {
    const char *algorithm, *contention; /* what TM_ALGORITHM and TM_CONTENTION are */
    bool is_json;
};

/* One thread at a time. */
void report_write(struct report *report, const struct report_facts *facts);

#endif
