/*
 * SPDX-License-Identifier: MIT
 *
 * What happens after an abort, and when a lock is not worth eliding for a while. Pure functions of
 * their arguments: no memory of their own, so the tests can walk through all of it.
 */
#ifndef MPLACE_RETRY_POLICY_H
#define MPLACE_RETRY_POLICY_H

#include <stdint.h>

enum retry_policy {
    /*
     * The paper's: whatever retrying can cure is retried without bound, anything else takes the
     * lock. Nothing is remembered from one acquisition to the next. Not for trylock and timed
     * locks, which retry as the adaptive policy does.
     */
    POLICY_PAPER,
    /*
     * Conflicts back off and are given up after a few; a lock that fails for causes that retrying
     * does not cure is taken physically for a while, each time longer.
     */
    POLICY_ADAPTIVE,
};

enum after_abort {
    RETRY_ONCE_FREE,      /* wait until the word is free, then try again */
    RETRY_AFTER_BACK_OFF, /* let the others finish first */
    TAKE_THIS_TIME,       /* take the lock; says nothing about the next time */
    TAKE_AND_REMEMBER,    /* take the lock, and elide it less */
};

/* status is of the abort just seen, failures how many this acquisition has seen, that included. */
enum after_abort retry_policy_after_abort(enum retry_policy policy, unsigned status,
                                          unsigned failures);

/*
 * PAUSEs before the retry that follows the failures-th failure: doubling, and different for threads
 * with different ids, so that two that keep aborting each other fall out of step.
 */
unsigned retry_policy_back_off(unsigned failures, unsigned thread);

/*
 * The memory of a lock, used by POLICY_ADAPTIVE: 16 bits in a mutex's __elision field, in a
 * rwlock's __pad4 twice, of a spin lock in the thread. Upper 4 bits: the level, how many
 * acquisitions in a row elision has failed, 13 at most; a commit brings it to 0. Lower 12 bits: how
 * many acquisitions to take physically before the next try; reaching level n sets it to
 * 2^(n-1) - 1. So one failure costs nothing but itself (an interrupt, a first touch of a page), a
 * lock that is hopeless is tried once in 4096 times, and where nothing fails, nothing is ever
 * written.
 */
enum { MEMORY_SKIP_BITS = 12, MEMORY_LEVEL_MOST = 13, MEMORY_SKIP_MASK = 0xfff, MEMORY_CLEAR = 0 };

static inline unsigned memory_level(uint16_t memory)
{
    return memory >> MEMORY_SKIP_BITS;
}

static inline unsigned memory_skips_left(uint16_t memory)
{
    return memory & MEMORY_SKIP_MASK;
}

uint16_t memory_after_failure(uint16_t memory);

/* One physical acquisition done for the memory's sake; skips must be left. */
static inline uint16_t memory_after_skip(uint16_t memory)
{
    return (uint16_t)(memory - 1);
}

#endif
