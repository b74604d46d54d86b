/*
 * SPDX-License-Identifier: MIT
 *
 * Each thread replaces blocks of its own, of many sizes and ages: the workloads "trace-cc1",
 * "trace-python", "alloc-test", "sh6", "sh8" and "realloc"; see workloads.c.
 */
#ifndef BENCH_MALLOC_CHURN_H
#define BENCH_MALLOC_CHURN_H

#include "workload.h"

workload_part trace_run, alloc_test_run, sh6_run, sh8_run, churn_end;
workload_part realloc_run, realloc_end;
void trace_cc1_prepare(const struct job *job);
void trace_python_prepare(const struct job *job);
void alloc_test_prepare(const struct job *job);
void sh_prepare(const struct job *job);
void realloc_prepare(const struct job *job);

#endif
