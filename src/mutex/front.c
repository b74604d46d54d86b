/*
 * SPDX-License-Identifier: MIT
 *
 * The lock operations off the common path; see front.h.
 */
#include "mutex/front.h"

#include "base/probes.h"
#include "mutex/next_mutex.h"

#include <limits.h>

static inline bool is_mine(const pthread_mutex_t *mutex)
{
    return mutex_owner(mutex) == thread_id();
}

/* ---- counting, and what follows when the word is taken ---- */

/* Whoever waits leaves a transaction; that comes first, for inside one nothing is counted. */
static inline void count_wait(pthread_mutex_t *mutex)
{
    if (!statistics_on())
        return;
    lock_core_leave_transaction();
    statistics_wait_begins(mutex);
}

static inline void count_acquired(pthread_mutex_t *mutex, const void *caller)
{
    if (statistics_on())
        statistics_acquired(mutex, caller, lock_core_in_transaction());
}

int front_become_owner_slow(pthread_mutex_t *mutex, const void *caller)
{
    mutex_set_owner(mutex, thread_id());
    mutex->__data.__nusers++;
    count_acquired(mutex, caller);
    return 0;
}

static inline int become_owner(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    if ((kind & KIND_TYPE_MASK) == TYPE_RECURSIVE)
        mutex->__data.__count = 1;
    return front_become_owner_fast(mutex) ? 0 : front_become_owner_slow(mutex, caller);
}

/* A recursive mutex that this thread holds: one level deeper, 0 or EAGAIN. */
static int lock_again(pthread_mutex_t *mutex, const void *caller)
{
    if (mutex->__data.__count == UINT_MAX)
        return EAGAIN;
    mutex->__data.__count++;
    count_acquired(mutex, caller);
    return 0;
}

/* ---- lock ---- */

static __attribute__((noinline)) int lock_held(pthread_mutex_t *mutex, unsigned kind,
                                               const void *caller)
{
    count_wait(mutex);
    lock_core_acquire(mutex);
    PROBE3(contention_end, mutex, caller, 0);
    return become_owner(mutex, kind, caller);
}

int front_lock_held(pthread_mutex_t *mutex, const void *caller)
{
    return lock_held(mutex, TYPE_NORMAL, caller);
}

int front_lock_any(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_NORMAL:
    case TYPE_ADAPTIVE:
        if (lock_core_elide(mutex, kind, caller))
            return 0;
        break;
    case TYPE_RECURSIVE:
        if (is_mine(mutex))
            return lock_again(mutex, caller);
        break;
    case TYPE_ERROR_CHECK:
        if (is_mine(mutex))
            return EDEADLK;
        break;
    default:
        return next_mutex_lock(mutex);
    }
    bool taken = (kind & KIND_TYPE_MASK) == TYPE_ADAPTIVE ? lock_core_try_atomic(mutex)
                                                          : lock_core_try(mutex);
    if (__builtin_expect(!taken, 0))
        return lock_held(mutex, kind, caller);
    return become_owner(mutex, kind, caller);
}

int front_trylock_any(pthread_mutex_t *mutex, unsigned kind, const void *caller)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_NORMAL:
    case TYPE_ADAPTIVE:
        if (lock_core_try_elide(mutex, kind, caller))
            return 0;
        break;
    case TYPE_RECURSIVE:
        if (is_mine(mutex))
            return lock_again(mutex, caller);
        break;
    case TYPE_ERROR_CHECK:
        break; /* EBUSY also to the holder: POSIX has no EDEADLK here */
    default:
        return next_mutex_trylock(mutex);
    }
    if (!mutex_is_free(mutex) || !lock_core_try_atomic(mutex))
        return EBUSY;
    return become_owner(mutex, kind, caller);
}

int front_lock_until(pthread_mutex_t *mutex, unsigned kind, clockid_t clock,
                     const struct timespec *deadline, const void *caller)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_RECURSIVE:
        if (is_mine(mutex))
            return lock_again(mutex, caller);
        break;
    case TYPE_ERROR_CHECK:
        if (is_mine(mutex))
            return EDEADLK;
        break;
    default:
        if (lock_core_elide_until(mutex, kind, caller))
            return 0;
        break;
    }
    if (!lock_core_try_atomic(mutex)) {
        count_wait(mutex);
        int error = lock_core_acquire_until(mutex, clock, deadline);
        PROBE3(contention_end, mutex, caller, error);
        if (error != 0) {
            if (statistics_on())
                statistics_gave_up(mutex, caller);
            return error;
        }
    }
    return become_owner(mutex, kind, caller);
}

/* ---- unlock and destroy ---- */

int front_unlock_any(pthread_mutex_t *mutex, unsigned kind)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_NORMAL:
    case TYPE_ADAPTIVE:
        /*
         * Free: elided by this thread, or not locked at all, which these types let pass. The order
         * of the two tests matters: ending a transaction where there is none is a fault.
         */
        if (mutex_is_free(mutex)) {
            (void)lock_core_end_elided(mutex, kind);
            return 0;
        }
        return front_give_up(mutex);
    case TYPE_RECURSIVE:
        if (!is_mine(mutex))
            return EPERM;
        return --mutex->__data.__count != 0 ? 0 : front_give_up(mutex);
    case TYPE_ERROR_CHECK:
        return is_mine(mutex) && !mutex_is_free(mutex) ? front_give_up(mutex) : EPERM;
    default:
        return next_mutex_unlock(mutex);
    }
}

int front_destroy(pthread_mutex_t *mutex)
{
    /* A transaction cannot tell whether this thread holds the mutex elided. */
    lock_core_leave_transaction();
    bool users_count = (mutex_kind(mutex) & KIND_ELIDED_BY_LIBC) == 0;
    if (users_count ? mutex->__data.__nusers != 0 : !mutex_is_free(mutex))
        return EBUSY;
    __atomic_store_n(&mutex->__data.__kind, KIND_DESTROYED, __ATOMIC_RELAXED);
    return 0;
}
