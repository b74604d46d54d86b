/*
 * SPDX-License-Identifier: MIT
 *
 * Hardware and kernel event counts over the measured interval: libpfm4 translates the names,
 * perf_event_open counts. A machine that cannot count an event says so in one line; the run goes
 * on.
 */
#ifndef BENCH_HARNESS_COUNTERS_H
#define BENCH_HARNESS_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

enum { COUNTERS_MOST = 20 };

struct counters {
    size_t count;
    struct {
        char name[160];
        struct perf_event_attr attributes;
        int file; /* after counters_open */
    } event[COUNTERS_MOST];
};

/*
 * Chooses the events of a comma-separated list (libpfm4's names, roles of counter_roles.h, or
 * "paper" for all roles; a role's count is called "role@EVENT"). A role that this processor has no
 * event for gets one line on standard error and is left out. Returns false with a complaint (no
 * line end) when libpfm4 does not know a name or there are too many. Allocates (libpfm4), and
 * releases all of it. events NULL: no counters.
 */
bool counters_choose(struct counters *counters, const char *events, char *complaint,
                     size_t complaint_size);

/*
 * Opens the chosen events, stopped, for this thread and the threads that it will start, in user
 * mode where the kernel lets us count that alone. An event that cannot be counted here gets one
 * line on standard error and is left out. Allocates nothing.
 */
void counters_open(struct counters *counters);

void counters_start(struct counters *counters);
void counters_stop(struct counters *counters);

/* "name=value;name=value" to text, scaled where the kernel had to share a counter. */
void counters_read(struct counters *counters, char *text, size_t size);

void counters_close(struct counters *counters);

#endif
