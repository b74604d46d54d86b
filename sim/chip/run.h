/*
 * SPDX-License-Identifier: MIT
 *
 * One run of the simulator over trace files.
 */
#ifndef CHIP_RUN_H
#define CHIP_RUN_H

#include "chip/cores/core.h"

#include <stdio.h>

struct run {
    const struct machine *machine;
    char **paths;
    size_t path_count;
    bool check;
    uint64_t accesses; /* expected, for the progress; 0: not known */
    bool progress;     /* on standard error */
    bool turns_told;   /* nothing is said of threads that take turns */
    uint64_t power_cuts, seed;
    FILE *sharing;     /* which lines moved, as JSON; NULL: nobody asks */
};

enum run_status { RUN_DONE = 0, RUN_FINDING = 1, RUN_BAD_INPUT = 2 };

/* Runs it, and gives the cores, which are over, to `report`. What is wrong is one line on standard
 * error. */
enum run_status run_once(const struct run *run,
                         void (*report)(const struct cores *cores, void *context), void *context);

#endif
