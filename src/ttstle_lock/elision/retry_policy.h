/*
 * SPDX-License-Identifier: MIT
 *
 * What happens after an abort, and when a lock is not worth eliding for a while; the loop that
 * retries is in elision.c. Pure functions of their arguments: no memory of their own, so the tests
 * can walk through all of it.
 */
#ifndef MPLACE_RETRY_POLICY_H
#define MPLACE_RETRY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Under each of them what retrying cannot cure takes the lock at once. Trylock and timed locks
 * retry as the adaptive policy does, whichever is chosen.
 */
enum retry_policy {
    /*
     * The paper's: whatever retrying can cure is retried without bound. Nothing is remembered from
     * one acquisition to the next.
     */
    POLICY_PAPER,
    /*
     * Conflicts back off and are given up after a few; a lock that fails for causes that retrying
     * does not cure is taken physically for a while, each time longer.
     */
    POLICY_ADAPTIVE,
    /*
     * The three contention managers that Ruan, Vyas, Liu and Spear compare ("Transactionalizing
     * Legacy Code", ASPLOS 2014). They remember nothing, as the paper's policy, and differ from it
     * in what comes between two attempts, or ends them.
     */
    POLICY_BACKOFF,   /* a random wait, of a span that doubles; without bound */
    POLICY_HOURGLASS, /* after HOURGLASS_ABORTS in a row it begins alone; see hourglass.h */
    POLICY_SERIALISE, /* after SERIALISE_ABORTS in a row the lock */
    RETRY_POLICIES
};

/* The one in force. Written by the library's constructor alone (elision_read_settings); before
 * that, the default. */
extern enum retry_policy elision_policy __attribute__((visibility("hidden")));

enum {
    HOURGLASS_ABORTS = 128,
    HOURGLASS_ABORTS_ALONE = 128, /* then it takes the lock: who disturbs it begins nothing */
    SERIALISE_ABORTS = 100,       /* as GCC's libitm */
};

/* Whether locks have a memory under this policy. Where they have none a thread waits for a mutex or
 * a spin lock without bound before an attempt. */
static inline bool retry_policy_remembers(enum retry_policy policy)
{
    return policy == POLICY_ADAPTIVE;
}

enum after_abort {
    RETRY_ONCE_FREE,      /* wait until the word is free, then try again */
    RETRY_AFTER_BACK_OFF, /* let the others finish first */
    RETRY_ALONE,          /* when no other thread begins a transaction */
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
 * The same for POLICY_BACKOFF: at random from 1 to a span that doubles with each failure, 4096 at
 * most. The generator's seed is the thread's id, and draw numbers what the thread drew.
 */
unsigned retry_policy_random_back_off(unsigned failures, unsigned thread, unsigned draw);

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
