/*
 * SPDX-License-Identifier: MIT
 *
 * Where blocks lie: no malloc and no free in the measured interval. The workloads "walk-buffers",
 * "hot-l1" and "hot-l2"; see workloads.c.
 */
#ifndef BENCH_MALLOC_PLACEMENT_H
#define BENCH_MALLOC_PLACEMENT_H

#include "workload.h"

/*
 * walk-buffers reads the first 64 KiB of each buffer over and over: all of them together fit into a
 * third-level cache, so that neither the memory's speed nor its prefetching hides where the buffers
 * lie. The headers of hot-* are half of the lines of a first-level cache of 32 KiB, and a quarter
 * of those of a second-level cache of 512 KiB; with more of them the TLB is what is measured.
 */
enum { WALK_BUFFERS = 128, WALK_BYTES = 1 << 16, HOT_L1_BLOCKS = 256, HOT_L2_BLOCKS = 2048 };

workload_part walk_begin, walk_run, walk_end, hot_begin, hot_run, hot_end;
void walk_prepare(const struct job *job);
void hot_l1_prepare(const struct job *job);
void hot_l2_prepare(const struct job *job);

#endif
