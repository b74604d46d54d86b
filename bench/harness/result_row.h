/*
 * SPDX-License-Identifier: MIT
 *
 * The result of one run, as a CSV row for scripts or as text for a person. The columns and their
 * order are fixed: scripts and stored results rely on them.
 */
#ifndef BENCH_HARNESS_RESULT_ROW_H
#define BENCH_HARNESS_RESULT_ROW_H

#include "harness/interval.h"
#include "harness/labels.h"
#include "harness/machine.h"

#include <stdint.h>
#include <stdio.h>

struct result_row {
    const char *bench;
    const struct labels *labels;
    const struct machine *machine;
    const struct interval *interval;
    const struct set_histogram *histogram;
    uint64_t size, nodes, threads, seed;
    double rate; /* units a second; not shown where time is meaningless */
    const char *unit;
    const char *counters; /* "name=value;name=value" or empty */
};

/* The line of column names. */
void result_row_header(FILE *stream);

/* The row, one line; a field with a comma, quote or line end in it is quoted as RFC 4180 says. */
void result_row_csv(const struct result_row *row, FILE *stream);

/* The same for a person. */
void result_row_text(const struct result_row *row, FILE *stream);

#endif
