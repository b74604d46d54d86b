/*
 * SPDX-License-Identifier: MIT
 *
 * Many more threads than CPUs, each with a small working set: the workload "many-threads"; see
 * workloads.c.
 */
#ifndef BENCH_MALLOC_CROWD_H
#define BENCH_MALLOC_CROWD_H

#include "workload.h"

void crowd_prepare(const struct job *job);
workload_part crowd_begin, crowd_run, crowd_end;
void crowd_release(const struct job *job);

#endif
