/*
 * SPDX-License-Identifier: MIT
 *
 * One run: makes the structures, runs the transactions in threads, measures, and checks the
 * structures three times: at once; in a copy of the file as it is then, which is what the end of
 * the process at that moment would leave, after recovery; and after the file was closed and opened.
 */
#ifndef BENCH_PERSIST_RUN_H
#define BENCH_PERSIST_RUN_H

#include "workload.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREADS_MOST = 256 };

struct run {
    const struct workload *workload;
    const struct backend *backend; /* NULL: ordinary memory */
    enum persist_log log;
    uint64_t transactions, threads; /* transactions of each thread */
    uint64_t warm;                  /* and of each before it is measured */
    uint64_t operations, batch;     /* operations a transaction, transactions a fence */
    uint64_t keys, seed, node_size, memory, log_size;
    const char *folder; /* for the file */

    /* Results: of the measured transactions alone. */
    double seconds, recovery_seconds;
    double cpu_seconds; /* processor time of all threads together */
    const char *medium;
    struct persist_statistics counts; /* if the backend counts */
    uint64_t recovered;
};

/* Returns NULL, or what is wrong. Failures of the library end the program. */
const char *run_workload(struct run *run);

#endif
