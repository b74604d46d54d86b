/*
 * SPDX-License-Identifier: MIT
 *
 * The lock of the pool: a futex word of three states (U. Drepper, "Futexes Are Tricky", 2011,
 * mutex2). libc's mutex may be one of a lock library that is preloaded too.
 */
#ifndef MPLACE_BANK_LOCK_H
#define MPLACE_BANK_LOCK_H

#include "base/futex.h"

enum bank_lock_state { LOCK_FREE, LOCK_TAKEN, LOCK_AWAITED };

struct bank_lock {
    int word; /* enum bank_lock_state */
};

static inline void bank_lock(struct bank_lock *lock)
{
    int state = LOCK_FREE;

    if (__atomic_compare_exchange_n(&lock->word, &state, LOCK_TAKEN, 0, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&lock->word, LOCK_AWAITED, __ATOMIC_ACQUIRE) != LOCK_FREE)
        futex_wait(&lock->word, LOCK_AWAITED);
}

static inline void bank_unlock(struct bank_lock *lock)
{
    if (__atomic_exchange_n(&lock->word, LOCK_FREE, __ATOMIC_RELEASE) == LOCK_AWAITED)
        futex_wake_one(&lock->word);
}

#endif
