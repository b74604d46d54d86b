/*
 * SPDX-License-Identifier: MIT
 *
 * The AVL workload; see workload.h. What the threads share lies in sectors of its own, what each
 * of them counts on its stack until the interval is over: they meet at the mutex and in the tree,
 * and nowhere else.
 */
#include "avltree/workload.h"

#include "avltree/avl_verify.h"
#include "harness/pages.h"
#include "harness/random.h"
#include "mplace_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(struct workload_node) == 32, "the smallest --size is documented as 32");
_Static_assert(offsetof(struct workload_node, links) == 0, "a node is its links' address");

static struct shared {
    alignas(AVL_SECTOR) pthread_mutex_t mutex;
    alignas(AVL_SECTOR) struct avl_tree tree; /* two sectors; see avl.h. Guarded by the mutex. */
    /* Written once, by main at the end of the time or by a thread without memory. Relaxed: only
     * its value matters, and the finish barrier orders the rest. */
    alignas(AVL_SECTOR) atomic_bool stop;
    /* All threads and main pass start twice: when each has come there and the tree is ready, and
     * when the interval has begun; and finish when the last operation is over. So no thread's
     * making or end falls into the interval. */
    alignas(AVL_SECTOR) pthread_barrier_t start;
    pthread_barrier_t finish;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
_Static_assert(offsetof(struct shared, tree) == AVL_SECTOR &&
                   offsetof(struct shared, stop) == 3 * AVL_SECTOR &&
                   offsetof(struct shared, start) == 4 * AVL_SECTOR,
               "mutex, root, count and stop have a sector each");

struct tally {
    uint64_t operations, inserted, replaced, removed, looked_up, found;
    uint64_t keys_inserted, keys_removed; /* sums of keys, modulo 2^64 */
    uint64_t wrong_values;                /* look-ups that met a value which nobody wrote */
    bool no_memory;
};

struct worker {
    /* Written by main before the thread is made, and by the thread after its last operation. */
    alignas(AVL_SECTOR) pthread_t thread;
    const struct workload_plan *plan;
    uint64_t random;
    uint32_t writer; /* from 1; 0 is the set-up */
    struct tally tally;
};
_Static_assert(sizeof(struct worker) % AVL_SECTOR == 0, "no sector belongs to two workers");

static struct workload_node *node_of(const struct avl_node *links)
{
    return (struct workload_node *)links;
}

static int compare(const struct avl_node *left, const struct avl_node *right)
{
    uint32_t a = node_of(left)->key, b = node_of(right)->key;

    return (a > b) - (a < b);
}

/* Key and writer together, so that a value found at a wrong key, or half-written, shows. */
static uint32_t value_of(uint32_t key, uint32_t writer)
{
    return key * 0x9e3779b1u + writer;
}

static bool is_a_value(uint32_t value, uint32_t key, uint64_t writers)
{
    return value - value_of(key, 0) <= writers;
}

uint64_t workload_nodes(uint64_t keys)
{
    return keys / 2 - 1;
}

/* --- the three operations: each one locked section --- */

static void insert_key(struct tally *tally, uint32_t key, uint32_t value, size_t size)
{
    struct workload_node probe = {.key = key}, *node;
    struct avl_place place;
    bool is_new;

    pthread_mutex_lock(&shared.mutex);
    node = node_of(avl_find(&shared.tree, &probe.links, &place));
    is_new = node == NULL;
    if (is_new) {
        node = malloc(size);
        if (node != NULL) {
            node->key = key;
            node->value = value;
            avl_link(&shared.tree, &node->links, &place);
            avl_counted(&shared.tree, 1);
        }
    } else {
        node->value = value;
    }
    pthread_mutex_unlock(&shared.mutex);

    if (node == NULL) {
        tally->no_memory = true;
        atomic_store_explicit(&shared.stop, true, memory_order_relaxed);
    } else if (is_new) {
        tally->inserted++;
        tally->keys_inserted += key;
    } else {
        tally->replaced++;
    }
}

static void delete_key(struct tally *tally, uint32_t key)
{
    struct workload_node probe = {.key = key};
    bool is_there;

    pthread_mutex_lock(&shared.mutex);
    struct avl_node *node = avl_find(&shared.tree, &probe.links, NULL);
    is_there = node != NULL;
    if (is_there) {
        avl_unlink(&shared.tree, node);
        free(node);
        avl_counted(&shared.tree, -1);
    }
    pthread_mutex_unlock(&shared.mutex);

    if (is_there) {
        tally->removed++;
        tally->keys_removed += key;
    }
}

static void look_up_key(struct tally *tally, uint32_t key, uint64_t writers)
{
    struct workload_node probe = {.key = key};
    const struct avl_node *node;
    uint32_t value = 0;

    pthread_mutex_lock(&shared.mutex);
    node = avl_find(&shared.tree, &probe.links, NULL);
    if (node != NULL)
        value = node_of(node)->value;
    pthread_mutex_unlock(&shared.mutex);

    tally->looked_up++;
    if (node != NULL) {
        tally->found++;
        tally->wrong_values += !is_a_value(value, key, writers);
    }
}

/* --- the threads --- */

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct workload_plan plan = *worker->plan;
    const uint32_t writer = worker->writer;
    uint64_t random = worker->random;
    uint64_t left = plan.seconds != 0 ? UINT64_MAX : plan.operations;
    struct tally tally = {0};

    pthread_barrier_wait(&shared.start);
    pthread_barrier_wait(&shared.start);
    for (; left > 0 && !atomic_load_explicit(&shared.stop, memory_order_relaxed); left--) {
        uint32_t key = (uint32_t)random_below(&random, plan.keys);
        unsigned choice = (unsigned)random_below(&random, 100);

        if (choice < plan.insert_percent)
            insert_key(&tally, key, value_of(key, writer), plan.size);
        else if (choice < plan.insert_percent + plan.remove_percent)
            delete_key(&tally, key);
        else
            look_up_key(&tally, key, plan.threads);
        tally.operations++;
    }
    /* Before the barrier, which hands it to main; the interval is over for this thread. */
    worker->tally = tally;
    pthread_barrier_wait(&shared.finish);
    return NULL;
}

/* Makes a thread a worker, each waiting at the start; 0 or an errno value. */
static int start_threads(const struct workload_plan *plan, struct worker *workers)
{
    uint64_t random = plan->seed;
    int error = 0;

    for (uint64_t i = 0; i < plan->threads && error == 0; i++) {
        workers[i].plan = plan;
        workers[i].random = random_next(&random);
        workers[i].writer = (uint32_t)i + 1;
        /* A thread inherits where its maker may run. Attributes that say it would be allocated, and
         * freed again among the nodes. */
        if (plan->cores != NULL)
            error = cores_bind_self(plan->cores->cpu[i]);
        if (error == 0)
            error = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    if (plan->cores != NULL && error == 0)
        error = cores_bind_self(plan->cores->cpu[0]);
    return error;
}

/* --- before and after --- */

/* Distinct random keys, in random order; gives the sum of the keys. Not locked: there are no
 * threads yet, and making them hands the tree to them. */
static bool fill(const struct workload_plan *plan, uint64_t *keys_sum)
{
    uint64_t random = ~plan->seed, nodes = workload_nodes(plan->keys);

    avl_init(&shared.tree, compare);
    *keys_sum = 0;
    while (avl_count(&shared.tree) < nodes) {
        struct workload_node probe = {.key = (uint32_t)random_below(&random, plan->keys)}, *node;
        struct avl_place place;

        if (avl_find(&shared.tree, &probe.links, &place) != NULL)
            continue;
        node = malloc(plan->size);
        if (node == NULL)
            return false;
        node->key = probe.key;
        node->value = value_of(probe.key, 0);
        avl_insert(&shared.tree, &node->links, &place);
        *keys_sum += probe.key;
    }
    return true;
}

static void release_nodes(void)
{
    struct avl_node *node;

    while ((node = avl_first(&shared.tree)) != NULL) {
        avl_remove(&shared.tree, node);
        free(node);
    }
}

static void run_interval(const struct workload_plan *plan, struct interval *interval)
{
    pthread_barrier_wait(&shared.start);
    mplace_trace_begin();
    interval_begin(interval);
    pthread_barrier_wait(&shared.start);
    if (plan->seconds != 0) {
        struct timespec left = {.tv_sec = (time_t)plan->seconds};

        while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        }
        atomic_store_explicit(&shared.stop, true, memory_order_relaxed);
    }
    pthread_barrier_wait(&shared.finish);
    interval_end(interval);
    mplace_trace_end();
}

struct content {
    uint64_t keys, writers, keys_sum;
};

static bool accept(const struct avl_node *links, void *argument)
{
    const struct workload_node *node = node_of(links);
    struct content *content = argument;

    content->keys_sum += node->key;
    return node->key < content->keys && is_a_value(node->value, node->key, content->writers);
}

/* Structure, content, and that as much is in the tree as was put in and not taken out. */
static bool is_whole(const struct workload_plan *plan, const struct tally *all,
                     uint64_t keys_before, char *complaint, size_t complaint_size)
{
    struct content content = {.keys = plan->keys, .writers = plan->threads};
    const struct avl_node *at;
    enum avl_defect defect = avl_verify(&shared.tree, accept, &content, &at);

    if (defect != AVL_SOUND) {
        int written = snprintf(complaint, complaint_size, "the tree is broken after the run: %s",
                               avl_defect_text(defect));
        if (at != NULL)
            snprintf(complaint + written, complaint_size - (size_t)written,
                     ", at key %" PRIu32 " with value %" PRIu32, node_of(at)->key,
                     node_of(at)->value);
        return false;
    }
    uint64_t expected = workload_nodes(plan->keys) + all->inserted - all->removed;
    if (avl_count(&shared.tree) != expected) {
        snprintf(complaint, complaint_size,
                 "the tree is broken after the run: it has %zu nodes, and %" PRIu64
                 " were put in and not taken out",
                 avl_count(&shared.tree), expected);
        return false;
    }
    if (content.keys_sum != keys_before + all->keys_inserted - all->keys_removed) {
        snprintf(complaint, complaint_size,
                 "the tree is broken after the run: its keys are not those that were put in and "
                 "not taken out");
        return false;
    }
    if (all->wrong_values != 0) {
        snprintf(complaint, complaint_size,
                 "%" PRIu64 " look-ups met a value that nobody wrote: the lock does not exclude",
                 all->wrong_values);
        return false;
    }
    return true;
}

static struct tally add_up(const struct worker *workers, uint64_t count)
{
    struct tally all = {0};

    for (uint64_t i = 0; i < count; i++) {
        const struct tally *one = &workers[i].tally;

        all.operations += one->operations;
        all.inserted += one->inserted;
        all.replaced += one->replaced;
        all.removed += one->removed;
        all.looked_up += one->looked_up;
        all.found += one->found;
        all.keys_inserted += one->keys_inserted;
        all.keys_removed += one->keys_removed;
        all.wrong_values += one->wrong_values;
        all.no_memory |= one->no_memory;
    }
    return all;
}

static void complain_of_memory(const struct workload_plan *plan, char *complaint,
                               size_t complaint_size)
{
    snprintf(complaint, complaint_size, "out of memory at node %zu, of %" PRIu64 " bytes",
             avl_count(&shared.tree) + 1, plan->size);
}

bool workload_run(const struct workload_plan *plan, struct interval *interval,
                  struct set_histogram *histogram, struct workload_result *result, char *complaint,
                  size_t complaint_size)
{
    struct worker *workers = pages_map(plan->threads, sizeof *workers);
    uint64_t keys_before;

    if (workers == NULL) {
        snprintf(complaint, complaint_size, "no memory for %" PRIu64 " threads", plan->threads);
        return false;
    }
    /* Before the threads, whose making allocates. */
    if (!fill(plan, &keys_before)) {
        complain_of_memory(plan, complaint, complaint_size);
        return false;
    }
    for (struct avl_node *node = avl_first(&shared.tree); node != NULL; node = avl_next(node))
        set_histogram_add(histogram, node);

    pthread_barrier_init(&shared.start, NULL, (unsigned)plan->threads + 1);
    pthread_barrier_init(&shared.finish, NULL, (unsigned)plan->threads + 1);
    int error = start_threads(plan, workers);
    if (error != 0) {
        /* Threads that are there already wait for ever; they end with the process. */
        snprintf(complaint, complaint_size, "cannot start %" PRIu64 " threads: %s", plan->threads,
                 strerror(error));
        return false;
    }
    run_interval(plan, interval);
    for (uint64_t i = 0; i < plan->threads; i++)
        pthread_join(workers[i].thread, NULL);

    struct tally all = add_up(workers, plan->threads);
    bool good = !all.no_memory;
    if (!good)
        complain_of_memory(plan, complaint, complaint_size);
    else
        good = is_whole(plan, &all, keys_before, complaint, complaint_size);
    *result = (struct workload_result){
        .operations = all.operations,
        .inserted = all.inserted,
        .replaced = all.replaced,
        .removed = all.removed,
        .looked_up = all.looked_up,
        .found = all.found,
        .nodes_before = workload_nodes(plan->keys),
        .nodes_after = avl_count(&shared.tree),
    };
    if (good)
        release_nodes();
    pages_unmap(workers, plan->threads, sizeof *workers);
    return good;
}
