/*
 * SPDX-License-Identifier: MIT
 *
 * False sharing: the workloads "cache-scratch" and "cache-thrash"; see workloads.c.
 */
#ifndef BENCH_MALLOC_SHARING_H
#define BENCH_MALLOC_SHARING_H

#include "workload.h"

workload_part cache_scratch_run, cache_thrash_run;
void cache_scratch_prepare(const struct job *job);

#endif
