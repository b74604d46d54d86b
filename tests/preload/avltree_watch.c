/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for the tests of avltree: watches where blocks of 777 bytes, which are its
 * nodes, are allocated and freed, who wrote the value of the first one, and where threads may run.
 * Tells at the end of the first thread that is joined, on standard error; changes nothing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As in workload.h and workload.c; this file shares nothing with the program but malloc. */
struct node {
    void *links[3];
    uint32_t key, value;
};

static uint32_t writer_of(const struct node *node)
{
    return node->value - node->key * 0x9e3779b1u;
}

enum { WATCHED_SIZE = 777 };
static const struct node *first;
static bool ended;
static _Thread_local bool locked;
/* [1] in a locked section, [0] elsewhere. Until the threads have ended. */
static atomic_uint allocated[2], freed[2];

/* By CPU: how many threads may run there alone. [CPU_SETSIZE]: threads that may run on several. */
static atomic_uint bound[CPU_SETSIZE + 1];

static void note_binding(void)
{
    static _Thread_local bool noted;
    cpu_set_t set;
    int cpu = 0;

    if (noted || sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    noted = true;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &set))
        cpu++;
    atomic_fetch_add(&bound[CPU_COUNT(&set) == 1 ? cpu : CPU_SETSIZE], 1);
}

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static int (*next_lock)(pthread_mutex_t *), (*next_unlock)(pthread_mutex_t *);
static int (*next_join)(pthread_t, void **);

/* dlsym frees something itself, so free() cannot be the one to look itself up. */
__attribute__((constructor)) static void look_up(void)
{
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    *(void **)&next_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    *(void **)&next_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    *(void **)&next_join = dlsym(RTLD_NEXT, "pthread_join");
}

void *malloc(size_t size)
{
    if (next_malloc == NULL)
        *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    void *block = next_malloc(size);
    if (size == WATCHED_SIZE && !ended) {
        atomic_fetch_add(&allocated[locked], 1);
        if (first == NULL)
            first = block;
    }
    return block;
}

void free(void *block)
{
    /* From the first node on nothing but nodes is freed: the benchmark has made all else before. */
    if (first != NULL && !ended && block != NULL)
        atomic_fetch_add(&freed[locked], 1);
    if (next_free != NULL)
        next_free(block);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int error = next_lock(mutex);

    locked = error == 0;
    if (first != NULL)
        note_binding();
    return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    locked = false;
    return next_unlock(mutex);
}

int pthread_join(pthread_t thread, void **result)
{
    int error = next_join(thread, result);

    if (!ended) {
        /* All threads have done their last operation when main joins the first one. */
        ended = true;
        fprintf(stderr,
                "locked: %u allocated, %u freed; elsewhere: %u allocated, %u freed; writer %u\n",
                atomic_load(&allocated[1]), atomic_load(&freed[1]), atomic_load(&allocated[0]),
                atomic_load(&freed[0]), writer_of(first));
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (bound[cpu] != 0)
                fprintf(stderr, "CPU %d: %u threads\n", cpu, atomic_load(&bound[cpu]));
        }
        fprintf(stderr, "several CPUs: %u threads\n", atomic_load(&bound[CPU_SETSIZE]));
    }
    return error;
}
