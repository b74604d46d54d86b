/*
 * SPDX-License-Identifier: MIT
 *
 * Where a row was measured: host, processor model, date, first-level data cache, and the CPU that
 * the measuring thread is pinned to. Reading it allocates (hwloc): see surroundings.h.
 */
#ifndef BENCH_HARNESS_MACHINE_H
#define BENCH_HARNESS_MACHINE_H

#include "harness/set_histogram.h"

#include <stdbool.h>
#include <stddef.h>

struct machine {
    struct l1d_geometry l1d; /* of the pinned CPU, or of the one that this thread is on */
    char host[65];
    char cpu[128];    /* model name; commas, quotes and control characters removed */
    char date[32];    /* 2026-01-31T12:00:00Z */
    char pinned[128]; /* CPU number, or the numbers of several CPUs, or empty */
};

enum { MACHINE_NO_PIN = -1 };

/*
 * Fills *machine and pins the calling thread to pin_cpu unless that is MACHINE_NO_PIN. Returns
 * false with a complaint (no line end) when there is no such CPU for this process. emulated: hwloc
 * must not ask CPUID itself (under Valgrind it refuses to, in three lines on standard error).
 */
bool machine_read(struct machine *machine, int pin_cpu, bool emulated, char *complaint,
                  size_t complaint_size);

/* Copies a name for a CSV field: white space squeezed; commas, quotes, control characters dropped.
 */
void machine_clean_name(char *to, size_t size, const char *from);

#endif
