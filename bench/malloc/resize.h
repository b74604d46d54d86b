/*
 * SPDX-License-Identifier: MIT
 *
 * Long blocks that are resized: the workload "huge-resize"; see workloads.c.
 */
#ifndef BENCH_MALLOC_RESIZE_H
#define BENCH_MALLOC_RESIZE_H

#include "workload.h"

workload_part resize_run, resize_end;
void resize_prepare(const struct job *job);

#endif
