/*
 * SPDX-License-Identifier: MIT
 *
 * The pthread_mutex family as programs see it: types, owners, recursion, error codes. The same
 * source makes both lock libraries; the core (lock_core.h) differs.
 *
 * Which error comes first, and what an unlock of a free mutex does, follow glibc: programs were
 * tested there. The functions are exported without a version, so that one definition serves
 * references to each of libc's versions of them.
 */
#include "mutex/lock_core.h"
#include "mutex/next_mutex.h"
#include "mutex/statistics.h"
#include "mutex/thread_id.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/*
 * The common case of each function, a normal mutex that nobody else holds, runs from top to bottom
 * without a call and without a stack frame; everything else leaves by a tail call to one of these.
 */
#define OUT_OF_LINE __attribute__((noinline, cold))

/* ---- taking and giving ownership; the caller holds the word physically ---- */

static OUT_OF_LINE int become_owner_and_count(pthread_mutex_t *mutex)
{
    mutex_set_owner(mutex, thread_id());
    mutex->__data.__nusers++;
    if (statistics_on())
        statistics_acquired(lock_core_in_transaction());
    return 0;
}

/* Returns 0, what the lock functions return then. */
static inline int become_owner(pthread_mutex_t *mutex)
{
    int self = thread_id_cached;

    if (__builtin_expect(self == 0, 0) || statistics_on())
        return become_owner_and_count(mutex);
    mutex_set_owner(mutex, self);
    mutex->__data.__nusers++;
    return 0;
}

static inline int give_up(pthread_mutex_t *mutex)
{
    mutex_set_owner(mutex, 0);
    mutex->__data.__nusers--;
    lock_core_release(mutex);
    return 0;
}

static inline bool is_mine(const pthread_mutex_t *mutex)
{
    return mutex_owner(mutex) == thread_id();
}

/* A recursive mutex that this thread holds: one level deeper, 0 or EAGAIN. */
static int lock_again(pthread_mutex_t *mutex)
{
    if (mutex->__data.__count == UINT_MAX)
        return EAGAIN;
    mutex->__data.__count++;
    if (statistics_on())
        statistics_acquired(lock_core_in_transaction());
    return 0;
}

static inline bool is_ours(unsigned kind)
{
    return (kind & KIND_TYPE_MASK) <= TYPE_ADAPTIVE;
}

/* ---- lock ---- */

static OUT_OF_LINE int lock_held(pthread_mutex_t *mutex)
{
    lock_core_acquire(mutex);
    return become_owner(mutex);
}

static inline int lock_plain(pthread_mutex_t *mutex, unsigned kind)
{
    if (lock_core_elide(mutex, kind))
        return 0;
    if (__builtin_expect(lock_core_try(mutex), 1))
        return become_owner(mutex);
    return lock_held(mutex);
}

static __attribute__((noinline)) int lock_other(pthread_mutex_t *mutex, unsigned kind)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_ADAPTIVE:
        return lock_plain(mutex, kind);
    case TYPE_RECURSIVE:
        if (is_mine(mutex))
            return lock_again(mutex);
        if (!lock_core_try(mutex))
            lock_core_acquire(mutex);
        mutex->__data.__count = 1;
        return become_owner(mutex);
    case TYPE_ERROR_CHECK:
        if (is_mine(mutex))
            return EDEADLK;
        if (!lock_core_try(mutex))
            lock_core_acquire(mutex);
        return become_owner(mutex);
    default:
        return next_mutex_lock(mutex);
    }
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    unsigned kind = mutex_kind(mutex);

    if (__builtin_expect((kind & KIND_TYPE_MASK) == TYPE_NORMAL, 1))
        return lock_plain(mutex, kind);
    return lock_other(mutex, kind);
}

/* ---- trylock ---- */

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    unsigned kind = mutex_kind(mutex);

    switch (kind & KIND_TYPE_MASK) {
    case TYPE_NORMAL:
    case TYPE_ADAPTIVE:
        if (lock_core_try_elide(mutex, kind))
            return 0;
        break;
    case TYPE_RECURSIVE:
        if (is_mine(mutex))
            return lock_again(mutex);
        break;
    case TYPE_ERROR_CHECK:
        break; /* EBUSY also to the holder: POSIX has no EDEADLK here */
    default:
        return next_mutex_trylock(mutex);
    }
    /* Looks first: programs poll with trylock, and a failing exchange would take the line away from
     * the holder each time. */
    if (!mutex_is_free(mutex) || !lock_core_try(mutex))
        return EBUSY;
    if ((kind & KIND_TYPE_MASK) == TYPE_RECURSIVE)
        mutex->__data.__count = 1;
    return become_owner(mutex);
}

/* ---- timedlock and clocklock ---- */

static int lock_until(pthread_mutex_t *mutex, unsigned kind, clockid_t clock,
                      const struct timespec *deadline)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_RECURSIVE:
        if (is_mine(mutex))
            return lock_again(mutex);
        break;
    case TYPE_ERROR_CHECK:
        if (is_mine(mutex))
            return EDEADLK;
        break;
    default:
        if (lock_core_try_elide(mutex, kind))
            return 0;
        break;
    }
    if (!lock_core_try(mutex)) {
        int error = lock_core_acquire_until(mutex, clock, deadline);
        if (error != 0)
            return error;
    }
    if ((kind & KIND_TYPE_MASK) == TYPE_RECURSIVE)
        mutex->__data.__count = 1;
    return become_owner(mutex);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
                                   const struct timespec *restrict deadline)
{
    unsigned kind = mutex_kind(mutex);

    return is_ours(kind) ? lock_until(mutex, kind, CLOCK_REALTIME, deadline)
                         : next_mutex_timedlock(mutex, deadline);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock,
                                   const struct timespec *restrict deadline)
{
    unsigned kind = mutex_kind(mutex);

    if (!is_ours(kind))
        return next_mutex_clocklock(mutex, clock, deadline);
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    return lock_until(mutex, kind, clock, deadline);
}

/* ---- unlock ---- */

static inline int unlock_plain(pthread_mutex_t *mutex, unsigned kind)
{
    /*
     * Free: elided by this thread, or not locked at all, which these types let pass. The order of
     * the two tests matters: ending a transaction where there is none is a fault.
     */
    if (mutex_is_free(mutex)) {
        (void)lock_core_end_elided(kind);
        return 0;
    }
    return give_up(mutex);
}

static __attribute__((noinline)) int unlock_other(pthread_mutex_t *mutex, unsigned kind)
{
    switch (kind & KIND_TYPE_MASK) {
    case TYPE_ADAPTIVE:
        return unlock_plain(mutex, kind);
    case TYPE_RECURSIVE:
        if (!is_mine(mutex))
            return EPERM;
        return --mutex->__data.__count != 0 ? 0 : give_up(mutex);
    case TYPE_ERROR_CHECK:
        return is_mine(mutex) && !mutex_is_free(mutex) ? give_up(mutex) : EPERM;
    default:
        return next_mutex_unlock(mutex);
    }
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    unsigned kind = mutex_kind(mutex);

    if (__builtin_expect((kind & KIND_TYPE_MASK) == TYPE_NORMAL, 1))
        return unlock_plain(mutex, kind);
    return unlock_other(mutex, kind);
}

/* ---- init and destroy ---- */

EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    /* What attributes make of __kind is libc's business; without them it is all zeroes, and that
     * needs no look-up, wherever in the start of a process it happens. */
    if (attributes != NULL)
        return next_mutex_init(mutex, attributes);
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    if (!is_ours(mutex_kind(mutex)))
        return next_mutex_destroy(mutex);
    /* A transaction cannot tell whether this thread holds the mutex elided. */
    lock_core_leave_transaction();
    if (mutex->__data.__nusers != 0)
        return EBUSY;
    __atomic_store_n(&mutex->__data.__kind, KIND_DESTROYED, __ATOMIC_RELAXED);
    return 0;
}

/* ---- libc's names for its own callers, which old programs refer to as well ---- */

#define TEXT(name)    #name
#define TEXT_OF(name) TEXT(name)
#define ALSO_AS(second, first)                                                                     \
    extern __typeof__(first) second                                                                \
        __attribute__((visibility("default"), alias(TEXT_OF(first)), copy(first)))

ALSO_AS(__pthread_mutex_init, pthread_mutex_init);
ALSO_AS(__pthread_mutex_destroy, pthread_mutex_destroy);
ALSO_AS(__pthread_mutex_lock, pthread_mutex_lock);
ALSO_AS(__pthread_mutex_trylock, pthread_mutex_trylock);
ALSO_AS(__pthread_mutex_unlock, pthread_mutex_unlock);
