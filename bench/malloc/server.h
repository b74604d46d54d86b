/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks that one thread allocates and another one frees: the workloads "larson",
 * "producer-consumer" and "thread-churn"; see workloads.c.
 */
#ifndef BENCH_MALLOC_SERVER_H
#define BENCH_MALLOC_SERVER_H

#include "workload.h"

enum { PRODUCER_BATCH = 256, CHURN_BLOCKS = 4000 };

workload_part larson_run, larson_end, producer_consumer_run, thread_churn_run, thread_churn_end;
void larson_prepare(const struct job *job);
void producer_consumer_prepare(const struct job *job);
void thread_churn_prepare(const struct job *job);

#endif
