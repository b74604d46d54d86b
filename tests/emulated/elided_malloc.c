/*
 * SPDX-License-Identifier: MIT
 *
 * malloc and free inside elided sections: once the allocator has all the memory that is needed, and
 * while it grows.
 *
 *   usage: elided_malloc HOW THREADS KEYS SIZE OPERATIONS SEED
 *
 * Threads insert and remove random keys of one AVL tree under one mutex. HOW is "alternate": each
 * thread inserts a node, then removes one, and so on; or "random": what the next key says. First
 * under a mutex that is never elided, so that no transaction is counted: the tree is filled, by all
 * threads, and half emptied, so that each thread's part of the allocator has seen more blocks than
 * it will hold, and any thread frees what any other allocated. Then the same under a mutex that is
 * elided; each thread does so many operations.
 *
 * Or HOW is "grow": after some nodes that are inserted under the other mutex, all operations
 * insert.
 *
 * Afterwards it prints where everything lies that a
 * transaction of the program itself may write, and the allocator not:
 *
 *   data NAME ADDRESS BYTES      the mutex, the tree's root, its count
 *   block ADDRESS BYTES          every block that was ever a node
 *   sections N, frees N, remote N    elided sections, blocks freed there, those of another thread
 */
#include "avltree/avl.h"
#include "avltree/avl_verify.h"
#include "harness/pages.h"
#include "harness/random.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct avl_node links;
    uint32_t key;
    uint32_t allocator; /* the number of the thread */
};

static struct shared {
    alignas(AVL_SECTOR) pthread_mutex_t mutex; /* elided where that is possible */
    alignas(AVL_SECTOR) pthread_mutex_t plain;
    alignas(AVL_SECTOR) struct avl_tree tree; /* guarded by plain, then by mutex */
    alignas(AVL_SECTOR) pthread_barrier_t phase;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static enum { ALTERNATE, RANDOM, GROW } how;
static uint32_t threads, keys;
static size_t size;
static uint64_t operations;

struct worker {
    alignas(AVL_SECTOR) pthread_t thread;
    uint32_t number;
    bool removes_next; /* when alternating */
    uint64_t random;
    void **blocks; /* each that it got from malloc; written outside of transactions */
    size_t block_count, block_room;
    uint64_t sections, frees, remote;
};

static _Noreturn void end(const char *what)
{
    fprintf(stderr, "elided_malloc: %s\n", what);
    exit(1);
}

static int compare(const struct avl_node *left, const struct avl_node *right)
{
    uint32_t a = ((const struct node *)left)->key, b = ((const struct node *)right)->key;

    return (a > b) - (a < b);
}

/* Whether the key was new. */
static bool insert(struct worker *worker, pthread_mutex_t *mutex, uint32_t key)
{
    struct node probe = {.key = key}, *node = NULL;
    struct avl_place place;

    pthread_mutex_lock(mutex);
    bool is_new = avl_find(&shared.tree, &probe.links, &place) == NULL;
    if (is_new) {
        node = malloc(size);
        if (node != NULL) {
            node->key = key;
            node->allocator = worker->number;
            avl_link(&shared.tree, &node->links, &place);
            avl_counted(&shared.tree, 1);
        }
    }
    pthread_mutex_unlock(mutex);
    if (!is_new)
        return false;
    if (node == NULL || worker->block_count == worker->block_room)
        end("out of memory");
    worker->blocks[worker->block_count++] = node;
    return true;
}

/* Whether the key was there. */
static bool remove_key(struct worker *worker, pthread_mutex_t *mutex, uint32_t key)
{
    struct node probe = {.key = key};
    uint32_t allocator = 0;

    pthread_mutex_lock(mutex);
    struct avl_node *node = avl_find(&shared.tree, &probe.links, NULL);
    if (node != NULL) {
        allocator = ((struct node *)node)->allocator;
        avl_unlink(&shared.tree, node);
        free(node);
        avl_counted(&shared.tree, -1);
    }
    pthread_mutex_unlock(mutex);
    if (node != NULL) {
        worker->frees++;
        worker->remote += allocator != worker->number;
    }
    return node != NULL;
}

static void churn(struct worker *worker, pthread_mutex_t *mutex)
{
    worker->sections = worker->frees = worker->remote = 0;
    for (; worker->sections < operations; worker->sections++) {
        uint32_t key = (uint32_t)random_below(&worker->random, keys);
        bool removes = how == ALTERNATE ? worker->removes_next
                       : how == RANDOM  ? random_below(&worker->random, 2) == 0
                                        : false;
        bool done = removes ? remove_key(worker, mutex, key) : insert(worker, mutex, key);

        worker->removes_next ^= done;
    }
}

/* So that a thread meets the same part of the allocator in all phases. Where there are too few CPUs
 * it stays anywhere. */
static void stay_on(uint32_t cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

enum { FIRST_NODES = 16 }; /* of each thread */

static void *work(void *argument)
{
    struct worker *worker = argument;

    stay_on(worker->number);
    if (how == GROW) {
        for (int i = 0; i < FIRST_NODES; i++)
            insert(worker, &shared.plain, (uint32_t)random_below(&worker->random, keys));
        pthread_barrier_wait(&shared.phase);
        churn(worker, &shared.mutex);
        pthread_barrier_wait(&shared.phase);
        return NULL;
    }
    for (uint32_t key = worker->number; key < keys; key += threads)
        insert(worker, &shared.plain, key);
    pthread_barrier_wait(&shared.phase);
    for (uint32_t i = 0; i < keys / threads; i++)
        remove_key(worker, &shared.plain, (uint32_t)random_below(&worker->random, keys));
    churn(worker, &shared.plain);
    pthread_barrier_wait(&shared.phase);
    churn(worker, &shared.mutex);
    /* A thread that ends gives back its stack, which would abort the others' transactions. */
    pthread_barrier_wait(&shared.phase);
    return NULL;
}

static uint64_t number(const char *text, uint64_t least, uint64_t greatest)
{
    char *rest;
    uint64_t value = strtoull(text, &rest, 10);

    if (*text == '\0' || *rest != '\0' || value < least || value > greatest)
        end("an argument is not allowed");
    return value;
}

static int by_address(const void *left, const void *right)
{
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;

    return (a > b) - (a < b);
}

static void print_blocks(const struct worker *workers)
{
    size_t count = 0;
    void **all;

    for (uint32_t i = 0; i < threads; i++)
        count += workers[i].block_count;
    all = pages_map(count, sizeof *all);
    if (all == NULL)
        end("out of memory");
    count = 0;
    for (uint32_t i = 0; i < threads; i++) {
        memcpy(&all[count], workers[i].blocks, workers[i].block_count * sizeof *all);
        count += workers[i].block_count;
    }
    qsort(all, count, sizeof *all, by_address);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || all[i] != all[i - 1])
            printf("block %zu %zu\n", (size_t)all[i], size);
    }
}

static void print_data(const char *name, const void *address, size_t bytes)
{
    printf("data %s %zu %zu\n", name, (size_t)address, bytes);
}

int main(int argc, char **argv)
{
    pthread_mutexattr_t never_elided;
    struct worker *workers;
    uint64_t seed;

    if (argc == 7 && strcmp(argv[1], "alternate") == 0)
        how = ALTERNATE;
    else if (argc == 7 && strcmp(argv[1], "random") == 0)
        how = RANDOM;
    else if (argc == 7 && strcmp(argv[1], "grow") == 0)
        how = GROW;
    else
        end("usage: elided_malloc alternate|random|grow THREADS KEYS SIZE OPERATIONS SEED");
    threads = (uint32_t)number(argv[2], 1, 64);
    keys = (uint32_t)number(argv[3], threads, 1 << 20);
    size = number(argv[4], sizeof(struct node), 1 << 20);
    operations = number(argv[5], 1, 1 << 24);
    seed = number(argv[6], 0, UINT64_MAX);

    /* A mutex of this type, explicitly chosen, must deadlock when its holder locks it again. */
    pthread_mutexattr_init(&never_elided);
    pthread_mutexattr_settype(&never_elided, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_init(&shared.plain, &never_elided);
    pthread_barrier_init(&shared.phase, NULL, threads);
    avl_init(&shared.tree, compare);

    workers = pages_map(threads, sizeof *workers);
    if (workers == NULL)
        end("out of memory");
    for (uint32_t i = 0; i < threads; i++) {
        struct worker *worker = &workers[i];

        worker->number = i;
        worker->random = random_next(&seed);
        worker->block_room = keys / threads + 1 + 2 * operations;
        worker->blocks = pages_map(worker->block_room, sizeof *worker->blocks);
        if (worker->blocks == NULL)
            end("out of memory");
    }
    for (uint32_t i = 0; i < threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            end("cannot start the threads");
    }
    uint64_t sections = 0, frees = 0, remote = 0;
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sections += workers[i].sections;
        frees += workers[i].frees;
        remote += workers[i].remote;
    }
    if (avl_verify(&shared.tree, NULL, NULL, NULL) != AVL_SOUND)
        end("the tree is broken");

    print_data("mutex", &shared.mutex, sizeof shared.mutex);
    print_data("root", &shared.tree.root, AVL_SECTOR);
    print_data("count", &shared.tree.count, AVL_SECTOR);
    print_blocks(workers);
    printf("sections %" PRIu64 "\nfrees %" PRIu64 "\nremote %" PRIu64 "\n", sections, frees,
           remote);
    return 0;
}
