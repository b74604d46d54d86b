/*
 * SPDX-License-Identifier: MIT
 *
 * What a benchmark must know before its first node: labels, machine, cores, counters, and the lock
 * library's functions. hwloc, libpfm4, the dynamic linker and the C library's time functions
 * allocate and free memory to find it out, and the holes that they leave would scatter the nodes
 * over the cache sets. So a forked child finds it out: its addresses are the parent's, and the
 * parent's heap stays fresh.
 */
#ifndef BENCH_HARNESS_SURROUNDINGS_H
#define BENCH_HARNESS_SURROUNDINGS_H

#include "harness/cores.h"
#include "harness/counters.h"
#include "harness/interval.h"
#include "harness/labels.h"
#include "harness/machine.h"

#include <stdbool.h>
#include <stddef.h>

struct surroundings_wanted {
    int pin_cpu;          /* the calling thread is pinned there; or MACHINE_NO_PIN */
    bool cores;           /* or cores stays empty */
    const char *counters; /* a list for counters_choose; NULL: none */
};

struct surroundings {
    struct labels labels;
    struct machine machine;
    struct cores cores;        /* count 0: not wanted, or not known */
    char cores_complaint[256]; /* why they are not known, no line end; else empty */
    struct counters counters;  /* open, stopped */
    struct interval interval;  /* of these counters; not begun */
};

/*
 * Fills *found, which must stay where it is (the interval points into it), pins the calling thread
 * and opens the counters. Allocates nothing in this process. Returns false with a complaint (no
 * line end) when there is no such CPU or event, or no child process can be made. Call it while the
 * process has one thread.
 */
bool surroundings_read(struct surroundings *found, const struct surroundings_wanted *wanted,
                       char *complaint, size_t complaint_size);

#endif
