/*
 * SPDX-License-Identifier: MIT
 *
 * The pthread_spin family as programs see it. init and destroy stay libc's: they store a free lock,
 * and nothing.
 */
#include "base/probes.h"
#include "mutex/lock_core.h"
#include "mutex/statistics/statistics.h"

#include <errno.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static inline const void *key_of(pthread_spinlock_t *lock)
{
    return lock_key(lock, LOCK_SPIN);
}

static __attribute__((noinline, cold)) int count_acquired(pthread_spinlock_t *lock,
                                                          const void *caller)
{
    statistics_acquired(key_of(lock), caller, lock_core_in_transaction());
    return 0;
}

static inline int acquired(pthread_spinlock_t *lock, const void *caller)
{
    return statistics_on() ? count_acquired(lock, caller) : 0;
}

/* Whoever waits leaves a transaction; that comes first, for inside one nothing is counted. */
static __attribute__((noinline, cold)) int lock_held(pthread_spinlock_t *lock, const void *caller)
{
    lock_core_leave_transaction();
    if (statistics_on())
        statistics_wait_begins(key_of(lock));
    PROBE1(contention_begin, lock);
    do
        (void)tts_spin_lock_wait_until_free(lock, true);
    while (!tts_spin_lock_try(lock));
    PROBE3(contention_end, lock, caller, 0);
    return acquired(lock, caller);
}

static __attribute__((noinline)) int lock_elided(pthread_spinlock_t *lock, const void *caller)
{
    if (lock_core_elide_spin_lock(lock, caller))
        return 0;
    return tts_spin_lock_try(lock) ? acquired(lock, caller) : lock_held(lock, caller);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
    if (__builtin_expect(lock_core_elides(), 0))
        return lock_elided(lock, CALLER);
    if (__builtin_expect(!tts_spin_lock_take(lock), 0))
        return lock_held(lock, CALLER);
    return acquired(lock, CALLER);
}

/* Looks first, where libc does not: who polls would take the line away from the holder each time.
 */
EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
    if (lock_core_try_elide_spin_lock(lock, CALLER))
        return 0;
    if (!spin_lock_is_free(lock) || !tts_spin_lock_try(lock))
        return EBUSY;
    return acquired(lock, CALLER);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
    /* A free one may be elided, or not locked at all. The order of the two tests matters: ending a
     * transaction where there is none is a fault. */
    if (__builtin_expect(lock_core_elides(), 0) && spin_lock_is_free(lock)) {
        (void)lock_core_end_elided_spin_lock(lock);
        return 0;
    }
    tts_spin_lock_release(lock);
    return 0;
}
