/*
 * SPDX-License-Identifier: MIT
 *
 * A sweep: a run for each combination of the values of some keys, on all CPUs that the process may
 * use.
 */
#ifndef CHIP_SWEEP_H
#define CHIP_SWEEP_H

#include "chip/run.h"

enum { SWEEP_KEYS_MOST = 8, SWEEP_RUNS_MOST = 4096 };

struct sweep {
    const char *keys[SWEEP_KEYS_MOST];
    char *values[SWEEP_KEYS_MOST][64];
    unsigned counts[SWEEP_KEYS_MOST];
    unsigned key_count;
};

/* Adds "KEY=V1,V2,..."; keeps the text. False, and one line in `problem`, if it is not that. */
bool sweep_add(struct sweep *sweep, char *text, char *problem, size_t length);

/*
 * All runs: a line each to `table`, and to `json`, if not NULL, a list of objects with the settings
 * and the result. Returns the worst status of them.
 */
enum run_status sweep_run(const struct sweep *sweep, const struct run *run, FILE *table,
                          FILE *json);

#endif
