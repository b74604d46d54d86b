/*
 * SPDX-License-Identifier: MIT
 *
 * Servers: blocks travel between threads; see server.h. What is passed on are whole arrays of
 * slots, so that a block's mark, its slot's address, travels with it.
 */
#include "server.h"

#include "content.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * larson: a server thread replaces blocks of 8 to 1000 B at random places of an array, then ends
 * and leaves the array to a thread that has just begun. After each life a lane swaps its array
 * with the spare one, so with several lanes an array goes on in another lane.
 */
enum { LARSON_SLOTS = 5000, LARSON_LIFE = 100000, LARSON_LEAST = 8, LARSON_MOST = 1000 };
/* A short run has shorter arrays and lives, so that it replaces blocks and passes them on, too. */
enum { LARSON_LIVES_LEAST = 4, LARSON_TURNS_LEAST = 8 };

static _Atomic(struct slot *) larson_spare;
static struct slot *larson_slots[THREADS_MOST]; /* each touched by its own lane alone */
static uint64_t larson_length;                  /* of each array */

struct life {
    struct slot *slots;
    uint64_t operations, random;
};

void larson_prepare(const struct job *job)
{
    uint64_t length = job->operations / LARSON_TURNS_LEAST;
    struct slot *slots;

    larson_length = length > 0 && length < LARSON_SLOTS ? length : LARSON_SLOTS;
    slots = workload_pages((job->threads + 1) * larson_length, sizeof *slots);
    for (unsigned t = 0; t < job->threads; t++)
        larson_slots[t] = slots + t * larson_length;
    atomic_store(&larson_spare, slots + job->threads * larson_length);
}

static void *larson_live(void *argument)
{
    struct life *life = argument;

    for (uint64_t i = 0; i < life->operations; i++) {
        struct slot *slot = &life->slots[random_below(&life->random, larson_length)];

        slot_replace(slot,
                     LARSON_LEAST + random_below(&life->random, LARSON_MOST - LARSON_LEAST + 1));
    }
    return NULL;
}

void larson_run(const struct job *job, unsigned thread)
{
    struct life life = {.slots = larson_slots[thread], .random = workload_random(job, thread)};
    uint64_t whole = job->operations / LARSON_LIVES_LEAST;

    if (whole > LARSON_LIFE || whole == 0)
        whole = LARSON_LIFE;
    for (uint64_t left = job->operations; left > 0; left -= life.operations) {
        life.operations = left < whole ? left : whole;
        workload_follow(larson_live, &life);
        /* Hands over what the thread wrote to the array and takes what another lane's wrote. */
        life.slots = atomic_exchange_explicit(&larson_spare, life.slots, memory_order_acq_rel);
    }
    larson_slots[thread] = life.slots;
}

void larson_end(const struct job *job, unsigned thread)
{
    (void)job;
    slots_empty(larson_slots[thread], larson_length);
    if (thread == 0) /* the lanes have all stopped swapping: run is over */
        slots_empty(atomic_load(&larson_spare), larson_length);
}

/*
 * producer-consumer: every even thread fills batches of blocks, every odd one frees them; a single
 * thread does both in turn. The batches are as many as were made at the start, so a producer that
 * is ahead waits, and all allocators hold the same number of blocks at most.
 */
enum { BATCHES_A_THREAD = 8 };

struct batch {
    struct batch *next;
    struct slot slots[PRODUCER_BATCH];
};

/* A stack of batches; taking from an empty one waits. */
struct depot {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct batch *first;
};

static struct depot empty_batches = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};
static struct depot full_batches = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};
static atomic_uint_fast64_t batches_to_free;

static void depot_put(struct depot *depot, struct batch *batch)
{
    pthread_mutex_lock(&depot->mutex);
    batch->next = depot->first;
    depot->first = batch;
    pthread_mutex_unlock(&depot->mutex);
    pthread_cond_signal(&depot->filled);
}

static struct batch *depot_take(struct depot *depot)
{
    pthread_mutex_lock(&depot->mutex);
    while (depot->first == NULL)
        pthread_cond_wait(&depot->filled, &depot->mutex);
    struct batch *batch = depot->first;
    depot->first = batch->next;
    pthread_mutex_unlock(&depot->mutex);
    return batch;
}

static uint64_t batches_of_producer(const struct job *job)
{
    return job->operations / PRODUCER_BATCH;
}

void producer_consumer_prepare(const struct job *job)
{
    size_t count = (size_t)job->threads * BATCHES_A_THREAD;
    struct batch *batches = workload_pages(count, sizeof *batches);
    unsigned producers = (job->threads + 1) / 2;

    empty_batches.first = full_batches.first = NULL;
    for (size_t i = 0; i < count; i++)
        depot_put(&empty_batches, &batches[i]);
    atomic_store(&batches_to_free, producers * batches_of_producer(job));
}

static void produce(uint64_t *random)
{
    struct batch *batch = depot_take(&empty_batches);

    for (int i = 0; i < PRODUCER_BATCH; i++)
        slot_fill(&batch->slots[i], random_skewed(random, 16, 6));
    depot_put(&full_batches, batch);
}

static void consume(void)
{
    struct batch *batch = depot_take(&full_batches);

    slots_empty(batch->slots, PRODUCER_BATCH);
    depot_put(&empty_batches, batch);
}

/* True as many times as there are batches to come. */
static bool one_more_batch(void)
{
    uint_fast64_t left = atomic_load_explicit(&batches_to_free, memory_order_relaxed);

    while (left > 0 &&
           !atomic_compare_exchange_weak_explicit(&batches_to_free, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    return left > 0;
}

void producer_consumer_run(const struct job *job, unsigned thread)
{
    uint64_t random = workload_random(job, thread);

    if (thread % 2 == 1) {
        while (one_more_batch())
            consume();
        return;
    }
    for (uint64_t i = 0; i < batches_of_producer(job); i++) {
        produce(&random);
        if (job->threads == 1)
            consume();
    }
}

/*
 * thread-churn: thread after thread allocates some thousand blocks, frees about half of them, and
 * leaves the rest to a thread yet to come, after it has freed what an earlier one left.
 */
enum { CHURN_LEFT = 8 }; /* sets of blocks that nobody owns, for each lane */

static _Atomic(struct slot *) churn_left[CHURN_LEFT * THREADS_MOST];
static struct slot *churn_slots[THREADS_MOST]; /* each touched by its own lane alone */

struct visit {
    struct slot *slots;
    _Atomic(struct slot *) *left;
    uint64_t random;
};

void thread_churn_prepare(const struct job *job)
{
    size_t left = (size_t)CHURN_LEFT * job->threads;
    struct slot *slots = workload_pages((left + job->threads) * CHURN_BLOCKS, sizeof *slots);

    for (size_t i = 0; i < left; i++, slots += CHURN_BLOCKS)
        atomic_store(&churn_left[i], slots);
    for (unsigned t = 0; t < job->threads; t++, slots += CHURN_BLOCKS)
        churn_slots[t] = slots;
}

static void *thread_churn_visit(void *argument)
{
    struct visit *visit = argument;

    for (int i = 0; i < CHURN_BLOCKS; i++)
        slot_fill(&visit->slots[i], random_skewed(&visit->random, 16, 6));
    for (int i = 0; i < CHURN_BLOCKS; i++) {
        if (random_next(&visit->random) % 2 == 0)
            slot_empty(&visit->slots[i]);
    }
    /* Hands over what this thread wrote to its slots and takes what the other one wrote. */
    visit->slots = atomic_exchange_explicit(visit->left, visit->slots, memory_order_acq_rel);
    slots_empty(visit->slots, CHURN_BLOCKS);
    return NULL;
}

void thread_churn_run(const struct job *job, unsigned thread)
{
    struct visit visit = {.slots = churn_slots[thread], .random = workload_random(job, thread)};

    for (uint64_t i = 0; i < job->operations / CHURN_BLOCKS; i++) {
        visit.left = &churn_left[random_below(&visit.random, CHURN_LEFT * job->threads)];
        workload_follow(thread_churn_visit, &visit);
    }
    churn_slots[thread] = visit.slots;
}

void thread_churn_end(const struct job *job, unsigned thread)
{
    (void)job;
    for (int i = 0; i < CHURN_LEFT; i++)
        slots_empty(atomic_load(&churn_left[thread * CHURN_LEFT + i]), CHURN_BLOCKS);
}
