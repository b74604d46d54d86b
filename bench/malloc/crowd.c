/*
 * SPDX-License-Identifier: MIT
 *
 * Each thread replaces blocks of its own at random and now and then hands one to a thread that it
 * does not know, for which it gets another one. An allocator with a cache or an arena for each
 * thread holds what that costs times the number of threads. See crowd.h.
 */
#include "crowd.h"

#include "tagged.h"
#include "watch.h"

#include <sched.h>
#include <stdatomic.h>

enum {
    WORKING_SET = 100,
    SIZE_LEAST = 16,
    SIZE_MOST = 4000,
    HANDED_EACH = 16, /* one of so many blocks goes to another thread */
    YIELD_EACH = 256, /* operations: few CPUs serve many threads in turn */
};

static void **working_sets;            /* WORKING_SET a thread */
static _Atomic(void *) *handed;        /* a place a thread; NULL while it is empty */
static uint64_t serials[THREADS_MOST]; /* of each thread */

void crowd_prepare(const struct job *job)
{
    working_sets =
        workload_resident_pages((size_t)job->threads * WORKING_SET, sizeof *working_sets);
    handed = workload_resident_pages(job->threads, sizeof *handed);
}

static void *new_block(uint64_t *random, unsigned thread)
{
    return tagged_malloc(SIZE_LEAST + random_below(random, SIZE_MOST - SIZE_LEAST + 1),
                         &serials[thread]);
}

void crowd_begin(const struct job *job, unsigned thread)
{
    uint64_t random = ~workload_random(job, thread);
    void **blocks = working_sets + (size_t)thread * WORKING_SET;

    serials[thread] = 0;
    for (int i = 0; i < WORKING_SET; i++)
        blocks[i] = new_block(&random, thread);
}

void crowd_run(const struct job *job, unsigned thread)
{
    uint64_t random = workload_random(job, thread), operations = 0;
    void **blocks = working_sets + (size_t)thread * WORKING_SET;

    workload_moment(job, thread, "filled");
    while (workload_goes_on(job, operations)) {
        for (int i = 0; i < YIELD_EACH && (job->seconds > 0 || operations < job->operations);
             i++, operations++) {
            void **place = &blocks[random_below(&random, WORKING_SET)];
            void *block = *place;

            if (random_below(&random, HANDED_EACH) == 0)
                /* Hands over what this thread wrote to it and takes what the other one wrote. */
                block = atomic_exchange_explicit(&handed[random_below(&random, job->threads)],
                                                 block, memory_order_acq_rel);
            if (block != NULL)
                tagged_free(block);
            *place = new_block(&random, thread);
        }
        sched_yield();
    }
    workload_did(operations);
    workload_moment(job, thread, "worked");
}

void crowd_end(const struct job *job, unsigned thread)
{
    void **blocks = working_sets + (size_t)thread * WORKING_SET;

    for (int i = 0; i < WORKING_SET; i++)
        tagged_free(blocks[i]);
    workload_moment(job, thread, "freed");
}

void crowd_release(const struct job *job)
{
    for (unsigned t = 0; t < job->threads; t++) {
        if (handed[t] != NULL)
            tagged_free(handed[t]);
    }
    watch_moment("threads ended");
}
