/*
 * SPDX-License-Identifier: MIT
 *
 * What the elision_* programs share beyond lock_check.h. They state what POSIX promises of
 * programs whose critical sections may be run as transactions, and know nothing of transactions
 * but this: where the loaded library says that it elides, they also demand that it did, so that
 * none passes because nothing was elided.
 *
 * What a section finds wrong is kept in a variable and checked after the section: a check that
 * fails inside a transaction makes a system call to say so, is rolled back by that, and then holds.
 */
#ifndef MPLACE_ELISION_CHECK_H
#define MPLACE_ELISION_CHECK_H

#include "lock_check.h"

#include "mplace.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>

static inline bool elides(void)
{
    const char *(*htm)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_htm");

    return htm != NULL && strcmp(htm(), "none") != 0;
}

/* Counts from zero; call it before any of the sections that elided_since_start is to see. */
static inline void start_counting(void)
{
    void (*reset)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_statistics_reset");

    if (reset != NULL)
        reset();
}

/* Transactions committed since start_counting; 0 where nothing is elided. */
static inline uint64_t elided_since_start(void)
{
    struct mplace_lock_statistics counts;
    int (*statistics)(struct mplace_lock_statistics *, size_t) =
        (int (*)(struct mplace_lock_statistics *, size_t))dlsym(RTLD_DEFAULT,
                                                                "mplace_lock_statistics");

    if (!elides())
        return 0;
    CHECK_EQUAL(statistics(&counts, sizeof counts), 0);
    return counts.tx_committed;
}

/* Where sections can be elided, at least so many were. */
#define CHECK_ELIDED(at_least)                                                                     \
    do {                                                                                           \
        uint64_t elided_ = elided_since_start();                                                   \
        if (elides() && elided_ < (uint64_t)(at_least)) {                                          \
            dprintf(STDERR_FILENO, "%s:%d: %lu sections elided, not %lu\n", __FILE__, __LINE__,    \
                    (unsigned long)elided_, (unsigned long)(at_least));                            \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* A generator of its own for each thread: splitmix64. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The programs' one argument, a seed; printed, so that a failure can be repeated. */
static inline uint64_t take_seed(int argument_count, char **arguments)
{
    uint64_t seed = argument_count > 1 ? strtoull(arguments[1], NULL, 0) : 1;

    dprintf(STDOUT_FILENO, "seed %lu\n", (unsigned long)seed);
    return seed;
}

/* Passes some time without a system call and without PAUSE: neither would fit in a transaction. */
static inline void work(unsigned steps)
{
    for (volatile unsigned i = 0; i < steps; i++)
        continue;
}

/* Flags between threads, outside any mutex. Waiting yields, so it ends any transaction. */
static inline void raise_flag(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static inline void await_flag(int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        sched_yield();
}

#endif
