/*
 * SPDX-License-Identifier: MIT
 *
 * A program whose blocks change their sizes from phase to phase: the workload "phases"; see
 * workloads.c.
 */
#ifndef BENCH_MALLOC_PHASES_H
#define BENCH_MALLOC_PHASES_H

#include "workload.h"

enum { PHASES_MEGABYTES = 300, PHASES = 20 };

void phases_prepare(const struct job *job);
workload_part phases_run, phases_end;

#endif
