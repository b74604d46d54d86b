/*
 * SPDX-License-Identifier: MIT
 *
 * The memory of a workload over time. The watcher is the process that started the workload's: it
 * reads /proc/PID/statm and /proc/PID/maps once a second and at the moments that the workload
 * names. The process under study has no thread, timer or allocation for it, and pays a message for
 * a moment.
 */
#ifndef BENCH_MALLOC_WATCH_H
#define BENCH_MALLOC_WATCH_H

#include <stdint.h>
#include <sys/types.h>

enum { MOMENT_LENGTH = 40 };

/* ---- in the process under study ---- */

/* Where the watcher listens; without this call a moment is nothing. */
void watch_by(int socket);

/* Pages of the workload's own tables, which do not count; they are resident from now on. */
void watch_own_bytes(uint64_t bytes);

/* Names this moment; returns when the watcher has taken its sample. One thread at a time. The name
 * has no comma. Allocates nothing. */
void watch_moment(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- in the watcher ---- */

struct watch_sample {
    double second; /* since watch_process was called */
    char
        moment[MOMENT_LENGTH]; /* empty: a second has passed; "peak": the most of each at its end */
    uint64_t resident_kib;     /* without the workload's own tables */
    uint64_t virtual_kib, mappings;
};

/* Samples the process until it closes its end of the socket, then waits for it; returns its status
 * as waitpid does. The last sample is named "peak"; a process that failed has none. */
int watch_process(pid_t process, int socket, void (*take)(const struct watch_sample *sample));

#endif
