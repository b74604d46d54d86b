/*
 * SPDX-License-Identifier: MIT
 *
 * What the branches differ in: how a critical section is entered, how variables are read that are
 * volatile in memcached, how references are counted, how a maintenance thread is woken, and which
 * library functions are called. The cache itself is the same source in every branch.
 *
 * CACHE_STAGE counts the steps of Ruan, Vyas, Liu and Spear, "Transactionalizing Legacy Code: An
 * Experience Report Using GCC and Memcached" (ASPLOS 2014), section 3. CACHE_ITEM_TRANSACTIONS:
 * item locks become transactions (IT), too; else they are flags that small transactions set, and
 * what they protect is accessed outside of transactions (IP).
 */
#ifndef BENCH_CACHE_SERVER_BRANCH_H
#define BENCH_CACHE_SERVER_BRANCH_H

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE_LOCKS     0
#define STAGE_RELAXED   1 /* each critical section is a relaxed transaction */
#define STAGE_CALLABLE  2 /* and each function that one calls is annotated */
#define STAGE_MAX       3 /* and nothing is volatile, no reference count an atomic operation */
#define STAGE_LIBRARY   4 /* and library functions are replaced by safe ones */
#define STAGE_ON_COMMIT 5 /* and output and wake-ups wait for the commit: all are atomic */

/*
 * Before the definition and the declarations of a function that critical sections call: the stage
 * from which on it holds nothing unsafe. GCC believes the annotation transaction_callable of no
 * function that another file defines: before it calls one, the transaction runs alone.
 */
#if CACHE_STAGE >= STAGE_MAX
#define SAFE_FROM_MAX __attribute__((transaction_safe))
#else
#define SAFE_FROM_MAX SAFE_LATER
#endif
#if CACHE_STAGE >= STAGE_LIBRARY
#define SAFE_FROM_LIBRARY __attribute__((transaction_safe))
#else
#define SAFE_FROM_LIBRARY SAFE_LATER
#endif
#if CACHE_STAGE >= STAGE_ON_COMMIT
#define SAFE_FROM_ON_COMMIT __attribute__((transaction_safe))
#else
#define SAFE_FROM_ON_COMMIT SAFE_LATER
#endif
#if CACHE_STAGE >= STAGE_CALLABLE
#define SAFE_LATER __attribute__((transaction_callable))
#else
#define SAFE_LATER
#endif

/*
 * SECTION(lock, stage) { ... } is a critical section, which holds nothing unsafe from the stage on:
 * MAX, LIBRARY or ON_COMMIT. It must be left at its closing brace: by no return, break or goto.
 * Sections may nest in the order of the locks: item, cache, slabs, statistics.
 */
#if CACHE_STAGE == STAGE_LOCKS
static inline bool section_enter(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return true;
}

static inline bool section_leave(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    return false;
}
#define SECTION_PASTE(name, line) name##line
#define SECTION_ONCE(mutex, inside)                                                                \
    for (bool inside = section_enter(mutex); inside; inside = section_leave(mutex))
#define SECTION_AT(mutex, line) SECTION_ONCE(mutex, SECTION_PASTE(inside_, line))
#define SECTION(mutex, stage)   SECTION_AT(&(mutex), __LINE__)
#else
#define SECTION(mutex, stage) TRANSACTION_FROM_##stage
#endif
#if CACHE_STAGE >= STAGE_MAX
#define TRANSACTION_FROM_MAX __transaction_atomic
#else
#define TRANSACTION_FROM_MAX __transaction_relaxed
#endif
#if CACHE_STAGE >= STAGE_LIBRARY
#define TRANSACTION_FROM_LIBRARY __transaction_atomic
#else
#define TRANSACTION_FROM_LIBRARY __transaction_relaxed
#endif
#if CACHE_STAGE >= STAGE_ON_COMMIT
#define TRANSACTION_FROM_ON_COMMIT __transaction_atomic
#else
#define TRANSACTION_FROM_ON_COMMIT __transaction_relaxed
#endif

/* A lock that is also tried, and held from one section to another: in transactions a flag. */
#if CACHE_STAGE == STAGE_LOCKS
typedef pthread_mutex_t flag_lock;
#define FLAG_LOCK_INITIALIZER PTHREAD_MUTEX_INITIALIZER

static inline bool flag_trylock(flag_lock *lock)
{
    return pthread_mutex_trylock(lock) == 0;
}

static inline void flag_lock_wait(flag_lock *lock)
{
    pthread_mutex_lock(lock);
}

static inline void flag_unlock(flag_lock *lock)
{
    pthread_mutex_unlock(lock);
}
#else
typedef bool flag_lock;
#define FLAG_LOCK_INITIALIZER false

SAFE_FROM_MAX static inline bool flag_trylock(flag_lock *lock)
{
    bool taken = false;

    __transaction_atomic
    {
        if (!*lock)
            *lock = taken = true;
    }
    return taken;
}

/* Outside of transactions alone: a transaction would wait for what it hides from itself. */
static inline void flag_lock_wait(flag_lock *lock)
{
    while (!flag_trylock(lock))
        sched_yield();
}

SAFE_FROM_MAX static inline void flag_unlock(flag_lock *lock)
{
    __transaction_atomic
    {
        *lock = false;
    }
}
#endif

/* Variables that are volatile in memcached: read in and out of sections, whatever lock is held. */
#if CACHE_STAGE < STAGE_MAX
typedef volatile unsigned shared_unsigned;

static inline unsigned shared_get(const shared_unsigned *variable)
{
    return __atomic_load_n(variable, __ATOMIC_SEQ_CST);
}

static inline void shared_set(shared_unsigned *variable, unsigned value)
{
    __atomic_store_n(variable, value, __ATOMIC_SEQ_CST);
}
#else
typedef unsigned shared_unsigned;

SAFE_FROM_MAX static inline unsigned shared_get(const shared_unsigned *variable)
{
    return __transaction_atomic(*variable);
}

SAFE_FROM_MAX static inline void shared_set(shared_unsigned *variable, unsigned value)
{
    __transaction_atomic
    {
        *variable = value;
    }
}
#endif

/* Both of incr and decr return the new count. */
#if CACHE_STAGE < STAGE_MAX
static inline unsigned refcount_get(const unsigned short *count)
{
    return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

static inline unsigned refcount_incr(unsigned short *count)
{
    return __sync_add_and_fetch(count, 1);
}

static inline unsigned refcount_decr(unsigned short *count)
{
    return __sync_sub_and_fetch(count, 1);
}
#else
SAFE_FROM_MAX static inline unsigned refcount_get(const unsigned short *count)
{
    return __transaction_atomic(*count);
}

SAFE_FROM_MAX static inline unsigned refcount_incr(unsigned short *count)
{
    return __transaction_atomic(++*count);
}

SAFE_FROM_MAX static inline unsigned refcount_decr(unsigned short *count)
{
    return __transaction_atomic(--*count);
}
#endif

/*
 * How a maintenance thread waits for work. With a condition it waits inside of its section, with a
 * semaphore after it, and every wake-up counts. wake_post is called inside of a section.
 */
struct wake {
#if CACHE_SEMAPHORES
    sem_t semaphore;
#else
    pthread_cond_t condition;
#endif
};

#if CACHE_SEMAPHORES
#define WAKE_INITIALIZER                                                                           \
    {                                                                                              \
        0                                                                                          \
    } /* an unnamed semaphore of glibc with the value 0 */
static inline void wake_wait(struct wake *wake)
{
    while (sem_wait(&wake->semaphore) != 0)
        ;
}
#else
#define WAKE_INITIALIZER                                                                           \
    {                                                                                              \
        PTHREAD_COND_INITIALIZER                                                                   \
    }
#endif

#if CACHE_STAGE == STAGE_ON_COMMIT
#include "tm_handlers.h"
SAFE_FROM_ON_COMMIT static inline void wake_post(struct wake *wake)
{
    on_commit_post(&wake->semaphore);
}
#elif CACHE_SEMAPHORES
static inline void wake_post(struct wake *wake)
{
    sem_post(&wake->semaphore);
}
#else
static inline void wake_post(struct wake *wake)
{
    pthread_cond_signal(&wake->condition);
}
#endif

/* Library functions that critical sections call. The compiler knows memcpy, memset, malloc and free
   in transactions. */
#if CACHE_STAGE >= STAGE_LIBRARY
#include "tm_library.h"
#define lib_memcmp   tm_memcmp
#define lib_realloc  tm_realloc
#define lib_strtoull tm_strtoull
#define lib_decimal  tm_decimal
#else
#define lib_memcmp   memcmp
static inline void *lib_realloc(void *block, size_t old_size, size_t size)
{
    (void)old_size;
    return realloc(block, size);
}
#define lib_strtoull strtoull
/* Writes the number, size bytes at most with the closing null byte; returns its digits. */
static inline int lib_decimal(char *to, size_t size, unsigned long long number)
{
    return snprintf(to, size, "%llu", number);
}
#endif

/* What memcached says on standard error when it is verbose, and what it asserts. */
extern unsigned verbose;
#if CACHE_STAGE == STAGE_ON_COMMIT
#define LOG(level, text, number)                                                                   \
    do {                                                                                           \
        if (verbose > (level))                                                                     \
            on_commit_log(text, number);                                                           \
    } while (0)
#define ENSURE(condition) ((condition) ? (void)0 : tm_fail(#condition, __FILE__, __LINE__))
#else
#define LOG(level, text, number)                                                                   \
    do {                                                                                           \
        if (verbose > (level))                                                                     \
            fprintf(stderr, text " %lu\n", (unsigned long)(number));                               \
    } while (0)
#if CACHE_STAGE == STAGE_LOCKS
#define ENSURE(condition) assert(condition)
#else
#define ENSURE(condition) ((void)0) /* memcached is built with NDEBUG */
#endif
#endif

#endif
