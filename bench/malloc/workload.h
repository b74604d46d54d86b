/*
 * SPDX-License-Identifier: MIT
 *
 * What a workload is: its name, how much it does, and what each thread does before, in and after
 * the measured interval. Each family of workloads is a file; the table of all of them is
 * workloads.c.
 */
#ifndef BENCH_MALLOC_WORKLOAD_H
#define BENCH_MALLOC_WORKLOAD_H

#include "harness/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS_MOST = 2048, WORKLOAD_SIZES_MOST = 3 };

struct workload;

/* One run: all that a workload may know. The work is fixed by it and never by time, except where
 * seconds says how long. */
struct job {
    const struct workload *workload;
    uint64_t operations; /* of each thread */
    uint64_t size;       /* 0 where the workload has sizes of its own */
    uint64_t seed;
    uint64_t seconds; /* 0: the operations are the work */
    unsigned threads;
};

/* What one thread does; thread counts from 0, and thread 0 is the program's first thread. */
typedef void workload_part(const struct job *job, unsigned thread);

struct workload {
    const char *name;
    const char *pattern;               /* what it does, and what one operation is */
    uint64_t operations;               /* by default */
    uint64_t operations_step;          /* they are done in so many at a time */
    size_t size_least, size_greatest;  /* 0: --size does not apply */
    size_t sizes[WORKLOAD_SIZES_MOST]; /* run one after the other without --size; 0 ends them */
    bool over_time;       /* of memory over time: not among "all", and --seconds applies */
    bool size_is_threads; /* --size, and not --threads, says how many there are */
    uint64_t seconds;     /* by default */
    void (*prepare)(const struct job *job); /* by the first thread, before there are others */
    workload_part *begin;                   /* these two by every thread, not measured */
    workload_part *run;                     /* by every thread, measured */
    workload_part *end;
    void (*release)(const struct job *job); /* by the first thread, after the others */
};

extern const struct workload workloads[];
extern const size_t workload_count;

struct result {
    double seconds;      /* from the first thread's start of run to the last one's end */
    uint64_t operations; /* of each thread */
    uint64_t own_bytes;  /* of workload_resident_pages */
};

/* Runs the job's threads. */
struct result workload_measure(const struct job *job);

/* For run, where --seconds applies: the part of the work that is done after so many operations, and
 * whether some is left. */
double workload_progress(const struct job *job, uint64_t operations);
bool workload_goes_on(const struct job *job, uint64_t operations);

/* Tells how many operations a thread did, where that is not job->operations. */
void workload_did(uint64_t operations);

/* Waits for all threads of the job. */
void workload_gather(const struct job *job);

/* For all threads: the first one names the moment to whoever watches the process (watch.h), and the
 * others do nothing meanwhile. */
void workload_moment(const struct job *job, unsigned thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs a thread of a workload's own to its end, from within one of its threads. */
void workload_follow(void *(*body)(void *), void *argument);

/* Zeroed pages for a workload's own tables, never from the allocator under study; given back at
 * the end of workload_measure. */
void *workload_pages(size_t count, size_t element_size);

/* The same, resident from the start, so that who watches the process can leave them out. */
void *workload_resident_pages(size_t count, size_t element_size);

/* A generator's state for one thread of the job. */
static inline uint64_t workload_random(const struct job *job, unsigned thread)
{
    uint64_t state = job->seed + thread * 0x9e3779b97f4a7c15u;

    return random_next(&state);
}

/* A size from least on: half of all below 2 * least, and each doubling of the range half as often,
 * as programs ask for small blocks mostly; below least + (least << doublings). */
static inline size_t random_skewed(uint64_t *random, size_t least, unsigned doublings)
{
    uint64_t bits = random_next(random);
    unsigned doubled = (unsigned)__builtin_ctzll(bits | 1ull << doublings);

    /* The bits above the doublings are independent of them. */
    return least + (size_t)((bits >> 32) * (uint64_t)(least << doubled) >> 32);
}

#endif
