/*
 * SPDX-License-Identifier: MIT
 *
 * The pthread_mutex family as programs see it; what the functions do is in front.h. The same source
 * makes both lock libraries; the core (lock_core.h) differs.
 *
 * The functions are exported without a version, so that one definition serves references to each
 * of libc's versions of them.
 */
#include "mutex/front.h"
#include "mutex/next_mutex.h"
#include "mutex/second_name.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

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
    return kind_is_ours(mutex_kind(mutex)) ? front_destroy(mutex) : next_mutex_destroy(mutex);
}

/* ---- lock and unlock ---- */

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return front_lock(mutex, mutex_kind(mutex));
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return front_trylock(mutex, mutex_kind(mutex));
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
                                   const struct timespec *restrict deadline)
{
    unsigned kind = mutex_kind(mutex);

    if (!kind_is_ours(kind))
        return next_mutex_timedlock(mutex, deadline);
    return front_lock_until(mutex, kind, CLOCK_REALTIME, deadline, FRONT_CALLER);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock,
                                   const struct timespec *restrict deadline)
{
    unsigned kind = mutex_kind(mutex);

    if (!kind_is_ours(kind))
        return next_mutex_clocklock(mutex, clock, deadline);
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    return front_lock_until(mutex, kind, clock, deadline, FRONT_CALLER);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return front_unlock(mutex, mutex_kind(mutex));
}

/* ---- what only foreign mutexes have: robustness, ceilings ---- */

EXPORT int pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    return kind_is_ours(mutex_kind(mutex)) ? EINVAL : next_mutex_consistent(mutex);
}

EXPORT int pthread_mutex_getprioceiling(const pthread_mutex_t *restrict mutex,
                                        int *restrict ceiling)
{
    return kind_is_ours(mutex_kind(mutex)) ? EINVAL : next_mutex_getprioceiling(mutex, ceiling);
}

EXPORT int pthread_mutex_setprioceiling(pthread_mutex_t *restrict mutex, int ceiling,
                                        int *restrict old)
{
    return kind_is_ours(mutex_kind(mutex)) ? EINVAL
                                           : next_mutex_setprioceiling(mutex, ceiling, old);
}

/* ---- libc's second names: for its own callers, and from before POSIX took a function over ---- */

ALSO_AS(__pthread_mutex_init, pthread_mutex_init);
ALSO_AS(__pthread_mutex_destroy, pthread_mutex_destroy);
ALSO_AS(__pthread_mutex_lock, pthread_mutex_lock);
ALSO_AS(__pthread_mutex_trylock, pthread_mutex_trylock);
ALSO_AS(__pthread_mutex_unlock, pthread_mutex_unlock);

/* <pthread.h> makes the old name mean the new one, so only the assembler can still be told it. */
extern __typeof__(pthread_mutex_consistent)
    consistent_as_of_2006 __asm__("pthread_mutex_consistent_np")
        SECOND_NAME_OF(pthread_mutex_consistent);
