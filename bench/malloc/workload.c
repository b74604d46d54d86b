/*
 * SPDX-License-Identifier: MIT
 *
 * The threads of a job and its clock; see workload.h. A job of one thread makes no thread: the C
 * library's allocator is another one, without locked instructions, while a process has only one.
 */
#include "workload.h"

#include "content.h"
#include "harness/pages.h"
#include "mplace_trace.h"
#include "watch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_barrier_t barrier;

/* What workload_pages gave out, for the end of the job. */
enum { PAGES_MOST = 4 };
static struct {
    void *pages;
    size_t count, element_size;
} own_pages[PAGES_MOST];
static size_t own_pages_count;
static uint64_t resident_bytes;

static double job_start; /* written before the first barrier, read behind it */
static atomic_uint_fast64_t operations_done;

static struct member {
    const struct job *job;
    pthread_t thread;
    unsigned number;
    double start, stop; /* written by the member, read after it was joined */
} members[THREADS_MOST];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *work(void *argument)
{
    struct member *member = argument;
    const struct workload *workload = member->job->workload;

    if (workload->begin != NULL)
        workload->begin(member->job, member->number);
    /* All are at a barrier while one marks the trace: what lies in between is the same work in each
     * replay. */
    workload_gather(member->job);
    if (member->number == 0) {
        mplace_trace_begin();
        job_start = now();
    }
    pthread_barrier_wait(&barrier);
    member->start = now();
    workload->run(member->job, member->number);
    member->stop = now();
    pthread_barrier_wait(&barrier);
    if (member->number == 0)
        mplace_trace_end();
    workload_gather(member->job);
    if (workload->end != NULL)
        workload->end(member->job, member->number);
    return NULL;
}

double workload_progress(const struct job *job, uint64_t operations)
{
    if (job->seconds > 0)
        return (now() - job_start) / (double)job->seconds;
    return (double)operations / (double)job->operations;
}

bool workload_goes_on(const struct job *job, uint64_t operations)
{
    return workload_progress(job, operations) < 1;
}

void workload_did(uint64_t operations)
{
    atomic_fetch_add_explicit(&operations_done, operations, memory_order_relaxed);
}

void workload_gather(const struct job *job)
{
    if (job->threads > 1)
        pthread_barrier_wait(&barrier);
}

void workload_moment(const struct job *job, unsigned thread, const char *format, ...)
{
    workload_gather(job);
    if (thread == 0) {
        char moment[MOMENT_LENGTH];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(moment, sizeof moment, format, arguments);
        va_end(arguments);
        watch_moment("%s", moment);
    }
    workload_gather(job);
}

struct result workload_measure(const struct job *job)
{
    double start, stop;
    uint64_t done;

    atomic_store(&operations_done, 0);
    if (job->workload->prepare != NULL)
        job->workload->prepare(job);
    watch_own_bytes(resident_bytes);
    watch_moment("begun");
    if (pthread_barrier_init(&barrier, NULL, job->threads) != 0)
        content_give_up("there is no barrier for so many threads");
    for (unsigned t = 0; t < job->threads; t++)
        members[t] = (struct member){.job = job, .number = t};
    for (unsigned t = 1; t < job->threads; t++) {
        if (pthread_create(&members[t].thread, NULL, work, &members[t]) != 0)
            content_give_up("a thread cannot be made");
    }
    work(&members[0]);
    start = members[0].start;
    stop = members[0].stop;
    for (unsigned t = 1; t < job->threads; t++) {
        pthread_join(members[t].thread, NULL);
        start = members[t].start < start ? members[t].start : start;
        stop = members[t].stop > stop ? members[t].stop : stop;
    }
    pthread_barrier_destroy(&barrier);
    if (job->workload->release != NULL)
        job->workload->release(job);
    for (; own_pages_count > 0; own_pages_count--)
        pages_unmap(own_pages[own_pages_count - 1].pages, own_pages[own_pages_count - 1].count,
                    own_pages[own_pages_count - 1].element_size);
    done = atomic_load(&operations_done);
    struct result result = {.seconds = stop - start,
                            .own_bytes = resident_bytes,
                            .operations = done > 0 ? (done + job->threads - 1) / job->threads
                                                   : job->operations};
    resident_bytes = 0;
    return result;
}

void workload_follow(void *(*body)(void *), void *argument)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, body, argument) != 0)
        content_give_up("a thread cannot be made");
    pthread_join(thread, NULL);
}

void *workload_pages(size_t count, size_t element_size)
{
    void *pages = own_pages_count < PAGES_MOST ? pages_map(count, element_size) : NULL;

    if (pages == NULL)
        content_give_up("out of memory for the benchmark's own tables");
    own_pages[own_pages_count].pages = pages;
    own_pages[own_pages_count].count = count;
    own_pages[own_pages_count++].element_size = element_size;
    return pages;
}

void *workload_resident_pages(size_t count, size_t element_size)
{
    size_t bytes = count * element_size;
    void *pages = workload_pages(count, element_size);

    memset(pages, 0, bytes);
    resident_bytes += bytes;
    return pages;
}
