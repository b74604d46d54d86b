/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for the tests of avltree: does to blocks of 777 bytes, which are its nodes,
 * what no allocator and no lock may do. Which, says AVLTREE_BREAK:
 *     parent, balance, key, value, child
 *               changed in the block allocated last, after the first thread's end, so that nobody
 *               but the final check can meet it
 *     swap      key and value together become those of another key
 *     glimpse   the first block's value is wrong while the threads run, and right again afterwards
 *     memory    malloc fails from block number AVLTREE_BREAK_AT on (default 1)
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As in workload.h; this file shares nothing with the program but malloc. */
struct node {
    void *child[2];
    uintptr_t parent_and_balance;
    uint32_t key, value;
};

enum { BROKEN_SIZE = 777 };
static struct node *first, *last;
static unsigned allocated;

static int is(const char *what)
{
    const char *chosen = getenv("AVLTREE_BREAK");

    return chosen != NULL && strcmp(chosen, what) == 0;
}

void *malloc(size_t size)
{
    static void *(*next)(size_t);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    if (size != BROKEN_SIZE)
        return next(size);
    /* Called by main alone, or inside the locked section: no two threads are here. */
    const char *limit = getenv("AVLTREE_BREAK_AT");
    if (++allocated >= (limit != NULL ? (unsigned)atoi(limit) : 1) && is("memory")) {
        errno = ENOMEM;
        return NULL;
    }
    last = next(size);
    if (allocated == 2 && is("glimpse"))
        first->value ^= 1u << 31;
    if (allocated == 1)
        first = last;
    return last;
}

int pthread_join(pthread_t thread, void **result)
{
    static int (*next)(pthread_t, void **);
    static int done;

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_join");
    if (last != NULL && !done++) {
        if (is("parent"))
            last->parent_and_balance ^= 64;
        if (is("balance"))
            last->parent_and_balance ^= 3; /* -1 becomes 2, 0 becomes 1, 1 becomes 0 */
        if (is("key"))
            last->key = UINT32_MAX;
        if (is("value"))
            last->value ^= 1u << 31;
        if (is("child"))
            last->child[0] = (void *)64; /* no process has a page there */
        if (is("swap")) {
            last->value += ((last->key ^ 1) - last->key) * 0x9e3779b1u;
            last->key ^= 1;
        }
        if (is("glimpse"))
            first->value ^= 1u << 31;
    }
    return next(thread, result);
}
