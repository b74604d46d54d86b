/*
 * SPDX-License-Identifier: MIT
 *
 * A peak of small blocks is built up and freed in random order. Then the process does next to
 * nothing for job->seconds, as a server does after its busy hour: a light traffic that the caches
 * of threads or CPUs can serve, or a single block now and then. What counts is what stays resident,
 * and when it goes back to the kernel. See peak.h.
 */
#include "peak.h"

#include "content.h"
#include "tagged.h"
#include "watch.h"

#include <dlfcn.h>
#include <time.h>

enum {
    SIZE_LEAST = 32,
    SIZE_MOST = 2000,
    SIZE_MEAN = (SIZE_LEAST + SIZE_MOST) / 2,
    TRAFFIC_A_MILLISECOND = 100, /* pairs of malloc and free, of all threads */
    TRAFFIC_LIVE = 16,           /* blocks of each thread */
    SILENCE_MS = 250,            /* between two blocks */
};

/* Of each thread. */
static struct {
    void **blocks;
    size_t room;
} shares[THREADS_MOST];

static int (*trim)(size_t);

void peak_prepare(const struct job *job)
{
    uint64_t bytes = job->size * 1000000 / job->threads;
    /* A share has 1 % more blocks than the mean at most, with 1000 to spare for the least. */
    size_t room = bytes / SIZE_MEAN + bytes / SIZE_MEAN / 100 + 1000;
    void **blocks = workload_resident_pages(job->threads * room, sizeof *blocks);

    for (unsigned t = 0; t < job->threads; t++) {
        shares[t].blocks = blocks + t * room;
        shares[t].room = room;
    }
    /* The loaded allocator's; of one that has none, libc's finds nothing of its own to trim. */
    *(void **)&trim = dlsym(RTLD_DEFAULT, "malloc_trim");
}

static size_t build_up(const struct job *job, unsigned thread, uint64_t *random, uint64_t *serial)
{
    uint64_t left = job->size * 1000000 / job->threads;
    size_t count = 0;

    while (left > 0 && count < shares[thread].room) {
        size_t size = SIZE_LEAST + random_below(random, SIZE_MOST - SIZE_LEAST + 1);

        shares[thread].blocks[count++] = tagged_malloc(size, serial);
        left -= size < left ? size : left;
    }
    return count;
}

void peak_run(const struct job *job, unsigned thread)
{
    uint64_t random = workload_random(job, thread), serial = 0;

    for (uint64_t i = 0; i < job->operations; i++) {
        size_t count = build_up(job, thread, &random, &serial);

        workload_moment(job, thread, "built");
        while (count > 0)
            tagged_free(tagged_take(shares[thread].blocks, &count, random_below(&random, count)));
    }
    workload_did(serial);
    workload_moment(job, thread, "freed");
}

static void sleep_until(struct timespec *time)
{
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, NULL) != 0)
        ;
}

static void later(struct timespec *time, long milliseconds)
{
    time->tv_nsec += milliseconds * 1000000;
    time->tv_sec += time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

static void be_silent(const struct job *job, double seconds)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    for (long ms = 0; ms < (long)(seconds * 1000); ms += SILENCE_MS) {
        void *block = content_malloc(64);

        content_write(block, 64, content_mark(job));
        free(content_opaque(block));
        later(&time, SILENCE_MS);
        sleep_until(&time);
    }
}

static void serve_traffic(const struct job *job, unsigned thread, double seconds)
{
    static const size_t sizes[] = {24, 64, 100, 200, 500, 1000};
    struct slot live[TRAFFIC_LIVE] = {{.block = NULL}};
    uint64_t random = workload_random(job, thread);
    unsigned pairs = TRAFFIC_A_MILLISECOND / job->threads + 1, oldest = 0;
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    for (long ms = 0; ms < (long)(seconds * 1000); ms++) {
        for (unsigned i = 0; i < pairs; i++, oldest = (oldest + 1) % TRAFFIC_LIVE)
            slot_replace(&live[oldest], sizes[random_below(&random, sizeof sizes / sizeof *sizes)]);
        later(&time, 1);
        sleep_until(&time);
    }
    slots_empty(live, TRAFFIC_LIVE);
}

void peak_traffic_end(const struct job *job, unsigned thread)
{
    double third = (double)job->seconds / 3;

    serve_traffic(job, thread, third);
    workload_moment(job, thread, "after %.3g s", third);
    serve_traffic(job, thread, 2 * third);
    workload_moment(job, thread, "after %lu s", job->seconds);
}

void peak_silence_end(const struct job *job, unsigned thread)
{
    double third = (double)job->seconds / 3;

    if (thread == 0)
        be_silent(job, third);
    workload_moment(job, thread, "after %.3g s", third);
    if (thread == 0)
        be_silent(job, 2 * third);
    workload_moment(job, thread, "after %lu s", job->seconds);
}

void peak_release(const struct job *job)
{
    (void)job;
    if (trim != NULL)
        trim(0);
    watch_moment("trimmed");
}
