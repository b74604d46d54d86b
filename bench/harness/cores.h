/*
 * SPDX-License-Identifier: MIT
 *
 * Where the threads of a benchmark run: one CPU of each physical core, so that no two of them share
 * a first-level cache as hardware threads of one core would.
 */
#ifndef BENCH_HARNESS_CORES_H
#define BENCH_HARNESS_CORES_H

#include <stdbool.h>
#include <stddef.h>

enum { CORES_MOST = 4096, CORES_CPUS_MOST = 1 << 16 };

struct cores {
    size_t count;
    unsigned cpu[CORES_MOST]; /* neighbours in the machine are neighbours here */
};

/*
 * The CPUs that the calling thread may use, the first of each core. Allocates (hwloc) and releases
 * all of it. emulated: as for machine_read. Returns false with a complaint (no line end).
 */
bool cores_read(struct cores *cores, bool emulated, char *complaint, size_t complaint_size);

/* Binds the calling thread, and with it the threads that it makes from now on, to a CPU. 0 or an
 * errno value. Allocates nothing. */
int cores_bind_self(unsigned cpu);

/* The first of them as a field of a row: "0;2;4"; ends with "..." where there is no room. */
void cores_text(char *to, size_t size, const struct cores *cores, size_t count);

#endif
