/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of one size: the workloads "pair" and "batch"; see workloads.c.
 */
#ifndef BENCH_MALLOC_SIMPLE_H
#define BENCH_MALLOC_SIMPLE_H

#include "workload.h"

enum { BATCH = 1000 };

workload_part pair_run, batch_run;
void batch_prepare(const struct job *job);

#endif
