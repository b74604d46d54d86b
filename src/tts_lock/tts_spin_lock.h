/*
 * SPDX-License-Identifier: MIT
 *
 * The physical spin lock, in libc's protocol (mutex/spin_lock/spin_layout.h). A waiter looks until
 * the lock is free and decrements then; TTS_WAIT does not change that, for a program that chose a
 * spin lock wants neither sleep nor system call.
 *
 * Ordering: a take is an acquire, the store of an unlock a release on the same word.
 */
#ifndef MPLACE_TTS_SPIN_LOCK_H
#define MPLACE_TTS_SPIN_LOCK_H

#include "base/spin.h"
#include "mutex/spin_lock/spin_layout.h"

/* One attempt as libc's lock makes it: a decrement that fails leaves the word lower, and held. */
static inline bool tts_spin_lock_take(pthread_spinlock_t *lock)
{
    return __atomic_sub_fetch(lock, 1, __ATOMIC_ACQUIRE) == SPIN_LOCK_FREE - 1;
}

/* One attempt that leaves the word as it is when it fails. */
static inline bool tts_spin_lock_try(pthread_spinlock_t *lock)
{
    int expected = SPIN_LOCK_FREE;

    return __atomic_compare_exchange_n(lock, &expected, 0, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static inline void tts_spin_lock_release(pthread_spinlock_t *lock)
{
    __atomic_store_n(lock, SPIN_LOCK_FREE, __ATOMIC_RELEASE);
}

/* Looks until it is seen free; without bound, or false after some 400 looks. */
static inline bool tts_spin_lock_wait_until_free(pthread_spinlock_t *lock, bool unbounded)
{
    for (int looks = 0; !spin_lock_is_free(lock); looks += !unbounded) {
        if (looks == 400)
            return false;
        spin_pause();
    }
    return true;
}

#endif
