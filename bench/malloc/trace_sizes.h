/*
 * SPDX-License-Identifier: MIT
 *
 * What sizes real programs ask for, measured.
 */
#ifndef BENCH_MALLOC_TRACE_SIZES_H
#define BENCH_MALLOC_TRACE_SIZES_H

#include <stdint.h>

/* A size and how many of 10,000 requests ask for it; a row of 0 requests ends a table. */
struct trace_size {
    uint32_t size, requests;
};

extern const struct trace_size trace_sizes_cc1[], trace_sizes_python[];

#endif
