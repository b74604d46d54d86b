/*
 * SPDX-License-Identifier: MIT
 *
 * Measured on Debian 12 with bench/size_histogram, SIZE_HISTOGRAM_UNIT=16: a row for each 16 bytes
 * of length with at least 0.4 % of the requests, at the mean of what was asked for; the rest in
 * bands up to 64, 256, 1024, 4096, 16384 B and above, each at its mean.
 */
#include "trace_sizes.h"

/* clang-format off */
/* cc1 of gcc 12.2, -O2, over 1500 functions of one loop each: 8.7 million requests, 266 B on average. */
const struct trace_size trace_sizes_cc1[] = {
    {13, 2228}, {28, 1313}, {42, 1439}, {60, 465}, {75, 486}, {90, 236}, {105, 1442}, {125, 126},
    {138, 284}, {157, 86}, {170, 208}, {190, 43}, {206, 441}, {218, 66}, {234, 63}, {252, 106},
    {266, 46}, {345, 113}, {394, 56}, {597, 469}, {2033, 91}, {4064, 146}, {9915, 36}, {52369, 11},
    {0, 0},
};

/* python3.11 -m test test_json, PYTHONMALLOC=malloc: 3.3 million requests, 176 B on average. */
const struct trace_size trace_sizes_python[] = {
    {4, 1312}, {32, 1713}, {43, 163}, {59, 2679}, {75, 934}, {120, 1295}, {150, 127}, {156, 710},
    {495, 42}, {1094, 1018}, {2143, 6}, {7851, 2}, {33575, 1},
    {0, 0},
};
/* clang-format on */
