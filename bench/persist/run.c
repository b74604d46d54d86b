/*
 * SPDX-License-Identifier: MIT
 *
 * See run.h.
 */
#include "run.h"

#include "harness/random.h"
#include "mplace_trace.h"

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
    double cpu_begin, cpu_end;
};

static double now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run_transactions(struct worker *worker, uint64_t transactions)
{
    const struct run *run = worker->run;

    for (uint64_t i = 0; i < transactions; i++) {
        store_begin(&worker->session);
        for (uint64_t j = 0; j < run->operations; j++) {
            uint64_t key = random_below(&worker->random, run->keys);

            run->workload->operate(&worker->session, key, random_next(&worker->random));
            worker->present[key] ^= 1;
        }
        store_commit(&worker->session, (i + 1) % run->batch != 0);
    }
    if (worker->session.backend != NULL)
        worker->session.backend->flush(worker->session.file);
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    run_transactions(worker, worker->run->warm);
    pthread_barrier_wait(worker->barrier);
    pthread_barrier_wait(worker->barrier);
    worker->begin = now(CLOCK_MONOTONIC);
    worker->cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
    run_transactions(worker, worker->run->transactions);
    worker->cpu_end = now(CLOCK_THREAD_CPUTIME_ID);
    worker->end = now(CLOCK_MONOTONIC);
    return NULL;
}

/* A block with the offsets of all structures, as the file's root. */
static void create_structures(const struct run *run, struct worker *workers, void *file)
{
    uint64_t roots[THREADS_MOST], block;
    struct session session = {.node_size = run->node_size};

    if (file != NULL)
        store_attach(&session, run->backend, file);
    for (uint64_t i = 0; i < run->threads; i++) {
        workers[i].session = session;
        workers[i].session.root = roots[i] = run->workload->create(&workers[i].session, run->keys);
    }
    if (file == NULL)
        return;
    store_begin(&session);
    block = store_alloc(&session, sizeof roots);
    store_write(&session, store_at(&session, block), roots, run->threads * sizeof *roots);
    run->backend->set_root(&session, block);
    store_commit(&session, false);
}

/* All structures of a file, or of ordinary memory. */
static const char *check(const struct run *run, const struct worker *workers, void *file)
{
    const char *complaint = NULL;

    for (uint64_t i = 0; i < run->threads && complaint == NULL; i++) {
        struct session session = workers[i].session;

        if (file != NULL) {
            store_attach(&session, run->backend, file);
            session.root = ((uint64_t *)store_at(&session, run->backend->root(file)))[i];
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
    return length == 0 ? NULL : "the file could not be copied";
}

static void finish(const struct run *run, struct worker *workers)
{
    for (uint64_t i = 0; i < run->threads && run->workload->finish != NULL; i++)
        run->workload->finish(&workers[i].session);
}

/* What a file holds when it is opened. */
static const char *check_file(struct run *run, const struct worker *workers, const char *path)
{
    double begin = now(CLOCK_MONOTONIC);
    void *file = run->backend->open(path);
    double seconds = now(CLOCK_MONOTONIC) - begin;
    const char *complaint;

    if (run->backend->statistics != NULL) {
        struct persist_statistics counts;

        run->backend->statistics(file, &counts);
        if (counts.recovered != 0) { /* not after a close */
            run->recovered = counts.recovered;
            run->recovery_seconds = seconds;
        }
    }
    complaint = check(run, workers, file);
    run->backend->close(file);
    return complaint;
}

static bool is_counted(const struct run *run)
{
    return run->backend != NULL && run->backend->statistics != NULL;
}

/* What the file has counted since before, as far as a row has it. */
static void count(struct run *run, void *file, const struct persist_statistics *before)
{
    struct persist_statistics after;

    run->backend->statistics(file, &after);
    run->counts.blocks = after.blocks - before->blocks;
    run->counts.flushes = after.flushes - before->flushes;
    run->counts.fences = after.fences - before->fences;
    run->counts.checkpoints = after.checkpoints - before->checkpoints;
}

/* From the first thread's begin to the last one's end. A trace's region of interest is a little
   more: it begins when all threads are there and warm. */
static void run_threads(struct run *run, struct worker *workers, void *file)
{
    struct persist_statistics before;
    pthread_barrier_t barrier;
    double begin = 0, end = 0;

    pthread_barrier_init(&barrier, NULL, (unsigned)run->threads + 1);
    for (uint64_t i = 0; i < run->threads; i++) {
        workers[i].barrier = &barrier;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            store_fail("pthread_create", "no thread");
    }
    pthread_barrier_wait(&barrier);
    if (is_counted(run))
        run->backend->statistics(file, &before);
    mplace_trace_begin();
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < run->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (i == 0 || workers[i].begin < begin)
            begin = workers[i].begin;
        if (workers[i].end > end)
            end = workers[i].end;
        run->cpu_seconds += workers[i].cpu_end - workers[i].cpu_begin;
    }
    mplace_trace_end();
    if (is_counted(run))
        count(run, file, &before);
    run->seconds = end - begin;
    pthread_barrier_destroy(&barrier);
}

static const char *run_in_file(struct run *run, struct worker *workers, const char *path,
                               const char *copy)
{
    const struct backend *backend = run->backend;
    const char *complaint;
    void *file;

    backend->create(path, run->log, run->memory, run->log_size);
    file = backend->open(path);
    create_structures(run, workers, file);
    run_threads(run, workers, file);
    run->medium = backend->medium(file);
    complaint = check(run, workers, file);
    if (complaint == NULL)
        complaint = copy_file(path, copy);
    finish(run, workers);
    backend->close(file);
    /* One after the other: libpmemobj does not open two files of one pool. */
    if (complaint == NULL)
        complaint = check_file(run, workers, copy);
    if (complaint == NULL)
        complaint = check_file(run, workers, path);
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
    if (run->backend == NULL) {
        create_structures(run, workers, NULL);
        run_threads(run, workers, NULL);
        complaint = check(run, workers, NULL);
        finish(run, workers);
    } else {
        snprintf(paths[0], sizeof paths[0], "%s/persist_bench.%d", run->folder, (int)getpid());
        snprintf(paths[1], sizeof paths[1], "%s/persist_bench.%d.copy", run->folder, (int)getpid());
        atexit(remove_files);
        complaint = run_in_file(run, workers, paths[0], paths[1]);
    }
    return complaint;
}
