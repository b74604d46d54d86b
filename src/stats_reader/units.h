/*
 * SPDX-License-Identifier: MIT
 *
 * Numbers as people read them: three digits and a unit.
 */
#ifndef MPLACE_STATS_READER_UNITS_H
#define MPLACE_STATS_READER_UNITS_H

struct units {
    char text[24];
};

/* "0 B", "1023 B", "1.00 KiB", "12.3 MiB"; below 0 with a minus. */
struct units units_bytes(double bytes);

/* The same with a plus above 0. */
struct units units_change(double bytes);

/* "0", "0.4", "999", "1.00 k", "12.3 M". */
struct units units_count(double count);

/* "0 s", "12.0 us", "3.40 ms", "1.20 s", "350 s". */
struct units units_time(double seconds);

#endif
