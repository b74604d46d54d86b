/*
 * SPDX-License-Identifier: MIT
 *
 * What the tests of cia's sub-heaps and of its magazines share.
 */
#ifndef TESTS_UNIT_CIA_FIXTURE_H
#define TESTS_UNIT_CIA_FIXTURE_H

#include "cia_malloc/api/allocator.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/statistics/statistics.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static inline void stay_on_cpu(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static inline struct subheap *heap_here(void)
{
    return atomic_load(&heap_table[current_cpu() % CPU_HEAPS]);
}

static inline void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* From here on each CPU serves itself, as with several threads, although this one alone works. */
static inline void have_another_thread(void)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_ever, NULL), 0);
}

static inline uint64_t live_blocks(void)
{
    return cia_totals_read().live_blocks;
}

/*
 * The first call of a process: before threads race where that is not meant, for there they store
 * the same into the tables of size classes, and ThreadSanitizer does not know that it is the same.
 */
static inline void make_first_call(void)
{
    cia_free(cia_allocate(1));
}

/* Threads that pass blocks to each other through slots. */
enum { EXCHANGERS = 4 };

/* Starts them; each gets a number from 1 on. */
static inline void start_exchangers(pthread_t threads[EXCHANGERS], void *(*function)(void *))
{
    make_first_call();
    for (uintptr_t i = 0; i < EXCHANGERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, function, (void *)(i + 1)), 0);
}

static inline void join_exchangers(const pthread_t threads[EXCHANGERS])
{
    for (int i = 0; i < EXCHANGERS; i++)
        pthread_join(threads[i], NULL);
}

#endif
