/*
 * SPDX-License-Identifier: MIT
 *
 * See load.h.
 */
#include "load.h"

#include "cache.h"
#include "content.h"
#include "items.h"
#include "locks.h"
#include "slabs.h"
#include "stats.h"
#include "verify.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TICK_OPERATIONS = 1000,     /* of worker 0, a tick of the clock */
    DESCRIBE_OPERATIONS = 5000, /* of each worker, one that asks for the statistics */
    EXPIRING_KEYS = 16,         /* one key in so many expires */
    EXPIRES_AFTER = 30,         /* ticks */
};

struct worker {
    pthread_t thread;
    struct load *load;
    pthread_barrier_t *barrier;
    unsigned number;
    uint64_t random;
    uint64_t gets, hits, sets, adds; /* done */
    uint64_t numbers_added;
    double begin, end;
    const char *complaint;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void set(struct worker *worker, enum content_kind kind, uint64_t number, size_t size)
{
    char key[CONTENT_KEY_MOST];
    size_t length = content_key(key, kind, number);
    bool expires = kind == CONTENT_VALUE && number % EXPIRING_KEYS == 0;
    unsigned exptime = expires ? shared_get(&current_time) + EXPIRES_AFTER : 0;
    struct item *item = cache_alloc(key, length, exptime, size);

    if (item == NULL)
        return; /* the tail of the list is in use: memcached, too, answers that it has no memory */
    if (kind == CONTENT_NUMBER)
        strcpy(item_value(item), "0");
    else
        content_write(item_value(item), size, number, random_next(&worker->random));
    cache_store(worker->number, item);
    cache_release(item);
}

static void get(struct worker *worker, uint64_t number)
{
    char key[CONTENT_KEY_MOST];
    size_t length = content_key(key, CONTENT_VALUE, number);
    struct item *item = cache_get(worker->number, key, length);

    worker->gets++;
    if (item == NULL)
        return;
    worker->hits++;
    if (item->key_size != length || memcmp(item->data, key, length) != 0)
        worker->complaint = "an item was found by another key";
    else if (!content_is_whole(item_value(item), item->value_size, number))
        worker->complaint = "an item was found with the value of another key";
    cache_release(item);
}

static void add(struct worker *worker, uint64_t number)
{
    char key[CONTENT_KEY_MOST];
    size_t length = content_key(key, CONTENT_NUMBER, number);

    worker->adds++;
    switch (cache_add(worker->number, key, length, 1)) {
    case CACHE_DONE:
        worker->numbers_added++;
        break;
    case CACHE_NOT_FOUND:
        set(worker, CONTENT_NUMBER, number, CONTENT_NUMBER_SIZE);
        break;
    case CACHE_NO_MEMORY:
        break;
    case CACHE_NOT_A_NUMBER:
        worker->complaint = "a number is none";
        break;
    }
}

static void operate(struct worker *worker)
{
    const struct load *load = worker->load;
    uint64_t what = random_below(&worker->random, 100);

    if (what < load->sets) {
        worker->sets++;
        set(worker, CONTENT_VALUE, random_below(&worker->random, load->keys), load->value_size);
    } else if (what < load->sets + load->adds) {
        add(worker, random_below(&worker->random, load->numbers));
    } else {
        get(worker, random_below(&worker->random, load->keys));
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    char text[4096];

    locks_enter();
    pthread_barrier_wait(worker->barrier);
    worker->begin = now();
    for (uint64_t i = 1; i <= worker->load->operations; i++) {
        locks_poll();
        operate(worker);
        if (worker->number == 0 && i % TICK_OPERATIONS == 0)
            cache_tick();
        if (i % DESCRIBE_OPERATIONS == 0 && cache_describe(text, sizeof text) == 0)
            worker->complaint = "the statistics are empty";
    }
    worker->end = now();
    locks_leave();
    return NULL;
}

/* By the main thread: old values until the memory is full, then the numbers, then every second key.
 */
static void fill(struct load *load, struct worker *worker)
{
    size_t old_bytes = item_bytes(CONTENT_KEY_MOST, load->old_size);
    uint64_t old = load->old_size == 0 ? 0 : load->memory / old_bytes;

    locks_enter();
    for (uint64_t i = 0; i < load->numbers; i++)
        set(worker, CONTENT_NUMBER, i, CONTENT_NUMBER_SIZE);
    for (uint64_t i = 0; i < old; i++) {
        locks_poll();
        set(worker, CONTENT_OLD, i, load->old_size);
    }
    for (uint64_t i = 0; i < load->keys && old == 0; i += 2) {
        locks_poll();
        set(worker, CONTENT_VALUE, i, load->value_size);
    }
    locks_leave();
}

static SAFE_FROM_MAX uint64_t evictions(void)
{
    uint64_t evicted = 0;

    for (unsigned i = 1; i <= slab_classes_used; i++)
        evicted += item_stats[i].evicted;
    return evicted;
}

/* The numbers add up to what was added, unless one was evicted. */
static const char *check_numbers(const struct load *load, uint64_t added)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < load->numbers; i++) {
        char key[CONTENT_KEY_MOST];
        size_t length = content_key(key, CONTENT_NUMBER, i);
        struct item *item = cache_get(0, key, length);

        if (item != NULL) {
            sum += strtoull(item_value(item), NULL, 10);
            cache_release(item);
        }
    }
    if (sum > added || (sum != added && evictions() == 0))
        return "additions to numbers were lost, or made twice";
    return NULL;
}

static const char *check(const struct load *load, const struct worker *workers)
{
    uint64_t added = 0, gets = 0, counted = 0;

    for (uint64_t i = 0; i < load->threads; i++) {
        if (workers[i].complaint != NULL)
            return workers[i].complaint;
        added += workers[i].numbers_added;
        gets += workers[i].gets;
        counted += thread_stats[i].get_commands;
    }
    if (gets != counted)
        return "the workers' counts of commands are wrong";
    const char *complaint = check_numbers(load, added);
    if (complaint == NULL)
        complaint = verify_cache();
    return complaint;
}

/* After the threads: before holds the counts from when they began. */
static void sum_up(struct load *load, const struct worker *workers, uint64_t evicted_before,
                   const struct stats *before)
{
    double begin = workers[0].begin, end = workers[0].end;

    for (uint64_t i = 0; i < load->threads; i++) {
        if (workers[i].begin < begin)
            begin = workers[i].begin;
        if (workers[i].end > end)
            end = workers[i].end;
        load->gets_done += workers[i].gets;
        load->hits += workers[i].hits;
        load->sets_done += workers[i].sets;
        load->adds_done += workers[i].adds;
    }
    load->seconds = end - begin;
    load->evicted = evictions() - evicted_before;
    load->pages_moved = stats.pages_moved - before->pages_moved;
    load->expansions = stats.hash_expansions - before->hash_expansions;
}

const char *load_run(struct load *load)
{
    static struct worker workers[THREADS_MOST];
    static struct stats before;
    pthread_barrier_t barrier;
    uint64_t evicted_before;

    if (!cache_start(load->memory, (unsigned)load->hash_power))
        return "no memory, or no thread";
    for (uint64_t i = 0; i < load->threads; i++) {
        workers[i].load = load;
        workers[i].barrier = &barrier;
        workers[i].number = (unsigned)i;
        workers[i].random = load->seed + i * 0x9e3779b97f4a7c15u;
    }
    fill(load, &workers[0]);
    SECTION(cache_lock, MAX)
    {
        evicted_before = evictions();
    }
    SECTION(stats_lock, MAX)
    {
        before = stats;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)load->threads + 1);
    for (uint64_t i = 0; i < load->threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return "no thread";
    }
    tm_counts_reset();
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < load->threads; i++)
        pthread_join(workers[i].thread, NULL);
    tm_counts_read(&load->counts);
    cache_stop();
    sum_up(load, workers, evicted_before, &before);
    pthread_barrier_destroy(&barrier);
    return check(load, workers);
}
