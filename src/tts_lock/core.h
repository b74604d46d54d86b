/*
 * SPDX-License-Identifier: MIT
 *
 * The core of libtts_lock.so: the test-and-test-and-set lock, no elision. Implements
 * mutex/lock_core.h.
 */
#ifndef MPLACE_TTS_CORE_H
#define MPLACE_TTS_CORE_H

#include "tts_lock/tts.h"
#include "tts_lock/tts_rwlock.h"
#include "tts_lock/tts_spin_lock.h"

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
    tts_acquire_contended(mutex);
}

static inline int lock_core_acquire_until(pthread_mutex_t *mutex, clockid_t clock,
                                          const struct timespec *deadline)
{
    return tts_acquire_contended_until(mutex, clock, deadline);
}

static inline void lock_core_release(pthread_mutex_t *mutex)
{
    tts_release(mutex);
}

static inline bool lock_core_elides(void)
{
    return false;
}

static inline bool lock_core_elide(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    (void)mutex;
    (void)kind;
    (void)caller;
    return false;
}

static inline bool lock_core_try_elide(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    (void)mutex;
    (void)kind;
    (void)caller;
    return false;
}

static inline bool lock_core_elide_until(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    (void)mutex;
    (void)kind;
    (void)caller;
    return false;
}

static inline bool lock_core_end_elided(pthread_mutex_t *mutex, unsigned kind)
{
    (void)mutex;
    (void)kind;
    return false;
}

static inline bool lock_core_elide_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                          const void *caller)
{
    (void)rwlock;
    (void)side;
    (void)caller;
    return false;
}

static inline bool lock_core_try_elide_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                              const void *caller)
{
    (void)rwlock;
    (void)side;
    (void)caller;
    return false;
}

static inline bool lock_core_end_elided_rwlock(pthread_rwlock_t *rwlock)
{
    (void)rwlock;
    return false;
}

static inline bool lock_core_elide_spin_lock(pthread_spinlock_t *lock, const void *caller)
{
    (void)lock;
    (void)caller;
    return false;
}

static inline bool lock_core_try_elide_spin_lock(pthread_spinlock_t *lock, const void *caller)
{
    (void)lock;
    (void)caller;
    return false;
}

static inline bool lock_core_end_elided_spin_lock(pthread_spinlock_t *lock)
{
    (void)lock;
    return false;
}

static inline bool lock_core_in_transaction(void)
{
    return false;
}

static inline void lock_core_leave_transaction(void)
{
}

#endif
