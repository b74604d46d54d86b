/*
 * SPDX-License-Identifier: MIT
 *
 * Signals and posts made inside sections that may be elided, with and without TTSTLE_DEFER=1: what
 * POSIX promises of them holds, and where transactions are at hand such a section commits with the
 * setting and aborts without. A lost wake-up shows as a hang, which the test's time-out reports.
 * Arguments: wakes; or storm and a seed.
 */
#include "elision_check.h"

#include <semaphore.h>

static bool deferring(void)
{
    const char *setting = getenv("TTSTLE_DEFER");

    return setting != NULL && strcmp(setting, "1") == 0;
}

/* ---- a worker wakes a thread that sleeps ---- */

enum { PAIRS = 3, WAKES = 60 };

/* The sleeper's own mutex is of a type that is never elided. */
struct pair {
    pthread_mutex_t mutex, sleeping;
    pthread_cond_t wake;
    sem_t work, done;
    bool asleep;
    int wanted;
} __attribute__((aligned(128)));
static struct pair pairs[PAIRS];

static void *sleep_on_the_condition(void *argument)
{
    struct pair *pair = argument;

    CHECK_EQUAL(pthread_mutex_lock(&pair->sleeping), 0);
    for (int i = 1; i <= WAKES; i++) {
        pair->asleep = true;
        while (__atomic_load_n(&pair->wanted, __ATOMIC_ACQUIRE) != i)
            CHECK_EQUAL(pthread_cond_wait(&pair->wake, &pair->sleeping), 0);
    }
    CHECK_EQUAL(pthread_mutex_unlock(&pair->sleeping), 0);
    return NULL;
}

static void await_sleeper(struct pair *pair)
{
    bool asleep;

    do {
        CHECK_EQUAL(pthread_mutex_lock(&pair->sleeping), 0);
        asleep = pair->asleep;
        pair->asleep = false;
        CHECK_EQUAL(pthread_mutex_unlock(&pair->sleeping), 0);
        if (!asleep)
            sched_yield();
    } while (!asleep);
}

static void *signal_the_sleeper(void *argument)
{
    struct pair *pair = argument;
    pthread_t sleeper = start_thread(sleep_on_the_condition, pair);

    for (int i = 1; i <= WAKES; i++) {
        await_sleeper(pair);
        CHECK_EQUAL(pthread_mutex_lock(&pair->mutex), 0);
        __atomic_store_n(&pair->wanted, i, __ATOMIC_RELEASE);
        int result = pthread_cond_signal(&pair->wake);
        CHECK_EQUAL(pthread_mutex_unlock(&pair->mutex), 0);
        CHECK_EQUAL(result, 0);
    }
    end_thread(sleeper);
    return NULL;
}

static void *sleep_on_the_semaphore(void *argument)
{
    struct pair *pair = argument;

    for (int i = 0; i < WAKES; i++) {
        CHECK_EQUAL(sem_wait(&pair->work), 0);
        CHECK_EQUAL(sem_post(&pair->done), 0);
    }
    return NULL;
}

/* Long enough for the other to fall asleep, in the emulator too: it yields. */
static void let_it_sleep(void)
{
    for (int i = 0; i < 20; i++)
        sched_yield();
}

static void *post_to_the_sleeper(void *argument)
{
    struct pair *pair = argument;
    pthread_t sleeper = start_thread(sleep_on_the_semaphore, pair);

    for (int i = 0; i < WAKES; i++) {
        let_it_sleep();
        CHECK_EQUAL(pthread_mutex_lock(&pair->mutex), 0);
        pair->wanted++;
        int result = sem_post(&pair->work);
        CHECK_EQUAL(pthread_mutex_unlock(&pair->mutex), 0);
        CHECK_EQUAL(result, 0);
        CHECK_EQUAL(sem_wait(&pair->done), 0);
    }
    end_thread(sleeper);
    return NULL;
}

static struct mplace_lock_statistics counts_now(void)
{
    struct mplace_lock_statistics counts;
    int (*statistics)(struct mplace_lock_statistics *, size_t) =
        (int (*)(struct mplace_lock_statistics *, size_t))dlsym(RTLD_DEFAULT,
                                                                "mplace_lock_statistics");

    CHECK_EQUAL(statistics(&counts, sizeof counts), 0);
    return counts;
}

static void run_pairs(void *(*worker)(void *))
{
    pthread_t workers[PAIRS];

    start_counting();
    for (int i = 0; i < PAIRS; i++) {
        pairs[i] = (struct pair){.mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .sleeping = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                 .wake = PTHREAD_COND_INITIALIZER};
        CHECK_EQUAL(sem_init(&pairs[i].work, 0, 0), 0);
        CHECK_EQUAL(sem_init(&pairs[i].done, 0, 0), 0);
        workers[i] = start_thread(worker, &pairs[i]);
    }
    for (int i = 0; i < PAIRS; i++)
        end_thread(workers[i]);
    if (!elides())
        return;

    struct mplace_lock_statistics counts = counts_now();
    dprintf(STDOUT_FILENO, "%d sections: %lu of %lu transactions committed\n", PAIRS * WAKES,
            (unsigned long)counts.tx_committed, (unsigned long)counts.tx_started);
    if (deferring()) {
        CHECK(counts.tx_committed * 100 >= 95 * PAIRS * WAKES);
        CHECK(counts.tx_committed * 100 >= 95 * counts.tx_started);
    } else {
        CHECK(counts.tx_committed * 100 <= 50 * PAIRS * WAKES);
    }
}

/* ---- a storm ---- */

enum { PRODUCERS = 2, CONSUMERS = 2, ITEMS = 60, PLACES = 3 };

/* An item lives until its producer has heard that it was consumed, and no longer. */
struct item {
    pthread_cond_t finished;
    sem_t consumed;
    bool is_finished, by_semaphore;
    int number;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    sem_t pushed;
    struct item *places[PLACES];
    int count, taken;
    long sum;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER};
static uint64_t seed;

static void push(struct item *item, bool broadcasts)
{
    CHECK_EQUAL(pthread_mutex_lock(&queue.mutex), 0);
    while (queue.count == PLACES)
        CHECK_EQUAL(pthread_cond_wait(&queue.not_full, &queue.mutex), 0);
    queue.places[queue.count++] = item;
    (void)sem_post(&queue.pushed);
    (void)(broadcasts ? pthread_cond_broadcast(&queue.not_empty)
                      : pthread_cond_signal(&queue.not_empty));
    CHECK_EQUAL(pthread_mutex_unlock(&queue.mutex), 0);
}

static void await_consumer(struct item *item)
{
    if (item->by_semaphore) {
        CHECK_EQUAL(sem_wait(&item->consumed), 0);
    } else {
        CHECK_EQUAL(pthread_mutex_lock(&queue.mutex), 0);
        while (!item->is_finished)
            CHECK_EQUAL(pthread_cond_wait(&item->finished, &queue.mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&queue.mutex), 0);
    }
    CHECK_EQUAL(pthread_cond_destroy(&item->finished), 0);
    CHECK_EQUAL(sem_destroy(&item->consumed), 0);
    memset(item, 0x5a, sizeof *item);
}

static void check_overwritten(const struct item *item)
{
    for (size_t i = 0; i < sizeof *item; i++)
        CHECK_EQUAL(((const unsigned char *)item)[i], 0x5a); /* else a signal came after the end */
}

static void *produce(void *argument)
{
    uint64_t random = seed + (uintptr_t)argument;
    struct item *items[2] = {malloc(sizeof(struct item)), malloc(sizeof(struct item))};

    for (int i = 0; i < ITEMS; i++) {
        struct item *item = items[i % 2];
        if (i >= 2)
            check_overwritten(item);
        *item = (struct item){.finished = PTHREAD_COND_INITIALIZER,
                              .by_semaphore = next_random(&random) % 2,
                              .number = i};
        CHECK_EQUAL(sem_init(&item->consumed, 0, 0), 0);
        push(item, next_random(&random) % 2);
        work(next_random(&random) % 200);
        await_consumer(item);
    }
    free(items[0]);
    free(items[1]);
    return NULL;
}

static bool consume_one(uint64_t *random)
{
    CHECK_EQUAL(pthread_mutex_lock(&queue.mutex), 0);
    while (queue.count == 0 && queue.taken != PRODUCERS * ITEMS)
        CHECK_EQUAL(pthread_cond_wait(&queue.not_empty, &queue.mutex), 0);
    if (queue.count == 0) {
        CHECK_EQUAL(pthread_mutex_unlock(&queue.mutex), 0);
        return false;
    }
    struct item *item = queue.places[--queue.count];
    queue.sum += item->number;
    if (++queue.taken == PRODUCERS * ITEMS)
        (void)pthread_cond_broadcast(&queue.not_empty); /* the other consumers can go */
    (void)pthread_cond_signal(&queue.not_full);
    if (item->by_semaphore) {
        (void)sem_post(&item->consumed);
    } else {
        item->is_finished = true;
        (void)pthread_cond_signal(&item->finished);
    }
    CHECK_EQUAL(pthread_mutex_unlock(&queue.mutex), 0);
    work(next_random(random) % 100);
    /* The section that pushed it has posted: whoever has seen that section sees the post. */
    CHECK_EQUAL(sem_trywait(&queue.pushed), 0);
    return true;
}

static void *consume(void *argument)
{
    uint64_t random = seed ^ (uintptr_t)argument << 32;

    while (consume_one(&random))
        continue;
    return NULL;
}

static void every_item_is_consumed_and_every_wait_ends(void)
{
    pthread_t threads[PRODUCERS + CONSUMERS];
    int value;

    CHECK_EQUAL(sem_init(&queue.pushed, 0, 0), 0);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        threads[i] = start_thread(i < PRODUCERS ? produce : consume, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        end_thread(threads[i]);
    CHECK_EQUAL(queue.taken, PRODUCERS * ITEMS);
    CHECK_EQUAL(queue.sum, (long)PRODUCERS * ITEMS * (ITEMS - 1) / 2);
    CHECK_EQUAL(sem_getvalue(&queue.pushed, &value), 0);
    CHECK_EQUAL(value, 0);
    CHECK_EQUAL(sem_destroy(&queue.pushed), 0);
}

int main(int argument_count, char **arguments)
{
    const char *claim = argument_count > 1 ? arguments[1] : "";

    if (strcmp(claim, "wakes") == 0) {
        run_pairs(signal_the_sleeper);
        run_pairs(post_to_the_sleeper);
    } else {
        seed = take_seed(argument_count - 1, arguments + 1);
        every_item_is_consumed_and_every_wait_ends();
    }
    return 0;
}
