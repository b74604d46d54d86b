/*
 * SPDX-License-Identifier: MIT
 *
 * How many addresses fall on each set of the first-level data cache: the picture that the whole
 * project is about.
 */
#ifndef BENCH_HARNESS_SET_HISTOGRAM_H
#define BENCH_HARNESS_SET_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct l1d_geometry {
    uint32_t sets; /* a power of two, 1 to 2^20 */
    uint32_t ways; /* 1 to 1024 */
    uint32_t line; /* bytes, a power of two from 16 to 4096 */
};

struct set_histogram {
    struct l1d_geometry geometry;
    uint32_t *count; /* one a set */
    uint32_t sets_used, max_per_set;
};

/* "64x12" or "64x12x64", strictly, as MPLACE_L1D is written; false, *geometry untouched, else. */
bool l1d_geometry_parse(const char *text, struct l1d_geometry *geometry);

/* Whether the numbers are within the bounds above. */
bool l1d_geometry_is_plausible(const struct l1d_geometry *geometry);

/* Takes pages for the counts; false and errno when there are none. */
bool set_histogram_open(struct set_histogram *histogram, const struct l1d_geometry *geometry);
void set_histogram_add(struct set_histogram *histogram, const void *address);
void set_histogram_close(struct set_histogram *histogram);

/* A line a set: its number, its count, a bar. Lines that begin with # are for people alone. */
void set_histogram_draw(const struct set_histogram *histogram, FILE *stream);

#endif
