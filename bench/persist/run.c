/*
 * SPDX-License-Identifier: MIT
 *
 * See run.h.
 */
#include "run.h"

#include "harness/random.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COPIED_AT_ONCE = 1 << 20 };

struct worker {
    pthread_t thread;
    struct session session;
    const struct run *run;
    uint64_t random;
    uint8_t *present; /* by key: odd, it is in the structure */
    pthread_barrier_t *barrier;
    double begin, end; /* by the thread's own clock: the main thread may wake late */
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct run *run = worker->run;

    pthread_barrier_wait(worker->barrier);
    worker->begin = now();
    for (uint64_t i = 0; i < run->transactions; i++) {
        store_begin(&worker->session);
        for (uint64_t j = 0; j < run->operations; j++) {
            uint64_t key = random_below(&worker->random, run->keys);

            run->workload->operate(&worker->session, key, random_next(&worker->random));
            worker->present[key] ^= 1;
        }
        store_commit(&worker->session, (i + 1) % run->batch != 0);
    }
    if (worker->session.region != NULL && persist_flush(worker->session.region) != 0)
        store_fail("persist_flush");
    worker->end = now();
    return NULL;
}

/* A block with the offsets of all structures, as the region's root. */
static void create_structures(const struct run *run, struct worker *workers,
                              struct persist_region *region)
{
    uint64_t roots[THREADS_MOST], block;
    struct session session = {.region = region,
                              .base = region == NULL ? NULL : persist_base(region)};

    for (uint64_t i = 0; i < run->threads; i++) {
        workers[i].session = session;
        workers[i].session.root = roots[i] = run->workload->create(&workers[i].session, run->keys);
    }
    if (region == NULL)
        return;
    store_begin(&session);
    block = store_alloc(&session, sizeof roots);
    store_write(&session, store_at(&session, block), roots, run->threads * sizeof *roots);
    if (persist_set_root(session.tx, block) != 0)
        store_fail("persist_set_root");
    store_commit(&session, false);
}

/* All structures of a region, or of ordinary memory. */
static const char *check(const struct run *run, const struct worker *workers,
                         struct persist_region *region)
{
    const char *complaint = NULL;

    for (uint64_t i = 0; i < run->threads && complaint == NULL; i++) {
        struct session session = workers[i].session;

        if (region != NULL) {
            session.region = region;
            session.base = persist_base(region);
            session.root = ((uint64_t *)store_at(&session, persist_root(region)))[i];
        }
        complaint = run->workload->check(&session, workers[i].present, run->keys);
    }
    return complaint;
}

static const char *copy_file(const char *from, const char *to)
{
    static char buffer[COPIED_AT_ONCE];
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t length = -1;

    while (source >= 0 && target >= 0 && (length = read(source, buffer, sizeof buffer)) > 0) {
        if (write(target, buffer, (size_t)length) != length) {
            length = -1;
            break;
        }
    }
    close(source);
    close(target);
    return length == 0 ? NULL : "the region's file could not be copied";
}

static struct persist_region *open_region(const char *path)
{
    struct persist_region *region = persist_open(path);

    if (region == NULL)
        store_fail("persist_open");
    return region;
}

/* What is left if the process ends now. */
static const char *check_copy(struct run *run, const struct worker *workers, const char *path,
                              const char *copy)
{
    const char *complaint = copy_file(path, copy);
    struct persist_region *region;
    struct persist_statistics counts;
    double begin;

    if (complaint != NULL)
        return complaint;
    begin = now();
    region = open_region(copy);
    run->recovery_seconds = now() - begin;
    persist_statistics(region, &counts, sizeof counts);
    run->recovered = counts.recovered;
    complaint = check(run, workers, region);
    if (persist_close(region) != 0)
        store_fail("persist_close");
    return complaint;
}

/* From the first thread's begin to the last one's end. */
static void run_threads(struct run *run, struct worker *workers)
{
    pthread_barrier_t barrier;
    double begin = 0, end = 0;

    pthread_barrier_init(&barrier, NULL, (unsigned)run->threads);
    for (uint64_t i = 0; i < run->threads; i++) {
        workers[i].barrier = &barrier;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            store_fail("pthread_create");
    }
    for (uint64_t i = 0; i < run->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (i == 0 || workers[i].begin < begin)
            begin = workers[i].begin;
        if (workers[i].end > end)
            end = workers[i].end;
    }
    run->seconds = end - begin;
    pthread_barrier_destroy(&barrier);
}

/* after - before, of the counts that a row has. */
static void count(struct run *run, const struct persist_statistics *before,
                  const struct persist_statistics *after)
{
    run->counts.blocks = after->blocks - before->blocks;
    run->counts.flushes = after->flushes - before->flushes;
    run->counts.fences = after->fences - before->fences;
    run->counts.checkpoints = after->checkpoints - before->checkpoints;
}

static const char *run_in_region(struct run *run, struct worker *workers, const char *path,
                                 const char *copy)
{
    struct persist_statistics before, after;
    struct persist_region *region;
    const char *complaint;

    if (persist_create(path, run->memory, run->log, run->log_size) != 0)
        store_fail("persist_create");
    region = open_region(path);
    create_structures(run, workers, region);
    persist_statistics(region, &before, sizeof before);
    run_threads(run, workers);
    persist_statistics(region, &after, sizeof after);
    count(run, &before, &after);
    run->medium = persist_medium(region);
    complaint = check(run, workers, region);
    if (complaint == NULL)
        complaint = check_copy(run, workers, path, copy);
    if (persist_close(region) != 0)
        store_fail("persist_close");
    if (complaint == NULL) {
        region = open_region(path);
        complaint = check(run, workers, region);
        if (persist_close(region) != 0)
            store_fail("persist_close");
    }
    return complaint;
}

/* Of a file that store_fail leaves behind as well. */
static char paths[2][4096];

static void remove_files(void)
{
    unlink(paths[0]);
    unlink(paths[1]);
}

const char *run_workload(struct run *run)
{
    static struct worker workers[THREADS_MOST]; /* they lead to the blocks of ordinary memory */
    const char *complaint;

    for (uint64_t i = 0; i < run->threads; i++) {
        workers[i].run = run;
        workers[i].random = run->seed + i * 0x9e3779b97f4a7c15u;
        workers[i].present = calloc(run->keys, 1);
        if (workers[i].present == NULL)
            return "no memory";
    }
    run->medium = "none";
    if (!run->persistent) {
        create_structures(run, workers, NULL);
        run_threads(run, workers);
        complaint = check(run, workers, NULL);
    } else {
        snprintf(paths[0], sizeof paths[0], "%s/persist_bench.%d", run->folder, (int)getpid());
        snprintf(paths[1], sizeof paths[1], "%s/persist_bench.%d.copy", run->folder, (int)getpid());
        atexit(remove_files);
        complaint = run_in_region(run, workers, paths[0], paths[1]);
    }
    return complaint;
}
