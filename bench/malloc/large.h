/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of megabytes: the workload "malloc-large"; see workloads.c.
 */
#ifndef BENCH_MALLOC_LARGE_H
#define BENCH_MALLOC_LARGE_H

#include "workload.h"

workload_part malloc_large_run, malloc_large_end;
void malloc_large_prepare(const struct job *job);

#endif
