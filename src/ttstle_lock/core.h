/*
 * SPDX-License-Identifier: MIT
 *
 * The core of libttstle_lock.so: elision before the test-and-test-and-set lock. Implements
 * mutex/lock_core.h. Where transactions do not work it is the TTS lock and one branch.
 */
#ifndef MPLACE_TTSTLE_CORE_H
#define MPLACE_TTSTLE_CORE_H

#include "tts_lock/tts.h"
#include "tts_lock/tts_rwlock.h"
#include "tts_lock/tts_spin_lock.h"
#include "ttstle_lock/elision/elision.h"
#include "ttstle_lock/elision/skip.h"

static inline bool lock_core_elides(void)
{
    return htm_usable;
}

static inline bool lock_core_in_transaction(void)
{
    return lock_core_elides() && htm_active();
}

static inline void lock_core_leave_transaction(void)
{
    if (lock_core_in_transaction())
        htm_abort_physical();
}

/* lock_core_elides, and at this call site too: one load where TTSTLE_SKIP is unset. */
static inline bool elides_at(const void *caller)
{
    return __builtin_expect(elides_everywhere, 1) ||
           (lock_core_elides() && skip_lets_elide(caller));
}

static inline bool lock_core_elide(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    return !(kind & KIND_NO_ELISION) && elides_at(caller) &&
           elision_enter(mutex, ELISION_MAY_WAIT, caller);
}

static inline bool lock_core_try_elide(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    if (kind & KIND_NO_ELISION) {
        /* A C11 mutex that this thread elides may be tried as a POSIX one. */
        lock_core_leave_transaction();
        return false;
    }
    return elides_at(caller) && elision_enter(mutex, ELISION_NEVER_WAIT, caller);
}

static inline bool lock_core_elide_until(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    lock_core_leave_transaction();
    return lock_core_try_elide(mutex, kind, caller);
}

static inline bool lock_core_end_elided(pthread_mutex_t *mutex, unsigned kind)
{
    if ((kind & KIND_NO_ELISION) || !lock_core_in_transaction())
        return false;
    return elision_leave(mutex);
}

static inline bool lock_core_elide_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                          const void *caller)
{
    return elides_at(caller) && elision_enter_rwlock(rwlock, side, ELISION_MAY_WAIT, caller);
}

static inline bool lock_core_try_elide_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                              const void *caller)
{
    lock_core_leave_transaction();
    return elides_at(caller) && elision_enter_rwlock(rwlock, side, ELISION_NEVER_WAIT, caller);
}

static inline bool lock_core_end_elided_rwlock(pthread_rwlock_t *rwlock)
{
    return lock_core_in_transaction() && elision_leave_rwlock(rwlock);
}

static inline bool lock_core_elide_spin_lock(pthread_spinlock_t *lock, const void *caller)
{
    return elides_at(caller) && elision_enter_spin_lock(lock, ELISION_MAY_WAIT, caller);
}

static inline bool lock_core_try_elide_spin_lock(pthread_spinlock_t *lock, const void *caller)
{
    return elides_at(caller) && elision_enter_spin_lock(lock, ELISION_NEVER_WAIT, caller);
}

static inline bool lock_core_end_elided_spin_lock(pthread_spinlock_t *lock)
{
    return lock_core_in_transaction() && elision_leave_spin_lock(lock);
}

/* A transaction may take a free lock physically; it must not wait for a held one. */
static inline bool lock_core_try(pthread_mutex_t *mutex)
{
    return tts_try(mutex);
}

static inline bool lock_core_try_atomic(pthread_mutex_t *mutex)
{
    return tts_try_atomic(mutex);
}

static inline void lock_core_acquire(pthread_mutex_t *mutex)
{
    lock_core_leave_transaction();
    tts_acquire_contended(mutex);
}

static inline int lock_core_acquire_until(pthread_mutex_t *mutex, clockid_t clock,
                                          const struct timespec *deadline)
{
    lock_core_leave_transaction();
    return tts_acquire_contended_until(mutex, clock, deadline);
}

static inline void lock_core_release(pthread_mutex_t *mutex)
{
    tts_release(mutex);
}

#endif
