/*
 * SPDX-License-Identifier: MIT
 *
 * What stays resident after a peak: the workloads "peak-and-free/traffic" and
 * "peak-and-free/silence"; see workloads.c.
 */
#ifndef BENCH_MALLOC_PEAK_H
#define BENCH_MALLOC_PEAK_H

#include "workload.h"

enum { PEAK_MEGABYTES = 400, PEAK_SECONDS = 30 };

void peak_prepare(const struct job *job);
workload_part peak_run, peak_traffic_end, peak_silence_end;
void peak_release(const struct job *job);

#endif
