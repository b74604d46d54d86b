/*
 * SPDX-License-Identifier: MIT
 *
 * The lock operations between the entry points (interpose.c for POSIX, c11.c for C11) and the core:
 * types, owners, recursion. Which error comes first, and what an unlock of a free mutex does,
 * follow glibc: programs were tested there. Results are errno values.
 *
 * The common case of each, a normal mutex that nobody else holds and no transactions at hand, is
 * inlined into the entry point and runs from top to bottom without a call and without a stack
 * frame; everything else leaves by a tail call to front.c.
 *
 * kind is __kind as the entry point sees it: KIND_NO_ELISION counts for POSIX and not for C11. Lock
 * and unlock of a mutex must agree on it. caller is where the exported function returns to, the
 * place in the program that locks; only the statistics look at it.
 */
#ifndef MPLACE_FRONT_H
#define MPLACE_FRONT_H

#include "mutex/lock_core.h"
#include "mutex/statistics/statistics.h"
#include "mutex/thread_id.h"

#include <errno.h>

/*
 * Inlined at every optimisation level, for FRONT_CALLER to name the exported function's caller. It
 * is read where it is used, and so never on the common path.
 */
#define FRONT_INLINE inline __attribute__((always_inline))
#define FRONT_CALLER __builtin_return_address(0)

/* ---- front.c ---- */

/* Lock, for each type; the foreign ones go to the next library. */
int front_lock_any(pthread_mutex_t *mutex, unsigned kind, const void *caller);
int front_trylock_any(pthread_mutex_t *mutex, unsigned kind, const void *caller);

/* clock is CLOCK_REALTIME or CLOCK_MONOTONIC; kind must be ours. */
int front_lock_until(pthread_mutex_t *mutex, unsigned kind, clockid_t clock,
                     const struct timespec *deadline, const void *caller);

/* Unlock, for each type. */
int front_unlock_any(pthread_mutex_t *mutex, unsigned kind);

/* kind must be ours. */
int front_destroy(pthread_mutex_t *mutex);

/* The rest of locking a normal mutex whose word was found held; returns 0. */
__attribute__((cold)) int front_lock_held(pthread_mutex_t *mutex, const void *caller);

/* The rest of locking a mutex whose word this thread holds, if it is counted or libc has to be
 * asked for the thread's id; returns 0. */
__attribute__((cold)) int front_become_owner_slow(pthread_mutex_t *mutex, const void *caller);

/* ---- the common case ---- */

/* False: nothing done, front_become_owner_slow has to. */
static inline bool front_become_owner_fast(pthread_mutex_t *mutex)
{
    int self = thread_id_if_known();

    if (__builtin_expect(self == 0, 0) || statistics_on())
        return false;
    mutex_set_owner(mutex, self);
    mutex->__data.__nusers++;
    return true;
}

static inline int front_give_up(pthread_mutex_t *mutex)
{
    mutex_set_owner(mutex, 0);
    mutex->__data.__nusers--;
    lock_core_release(mutex);
    return 0;
}

static inline bool front_is_common(unsigned kind)
{
    return __builtin_expect((kind & KIND_TYPE_MASK) == TYPE_NORMAL, 1);
}

static FRONT_INLINE int front_lock(pthread_mutex_t *mutex, unsigned kind)
{
    if (!front_is_common(kind) || __builtin_expect(lock_core_elides(), 0))
        return front_lock_any(mutex, kind, FRONT_CALLER);
    if (__builtin_expect(!lock_core_try(mutex), 0))
        return front_lock_held(mutex, FRONT_CALLER);
    return front_become_owner_fast(mutex) ? 0 : front_become_owner_slow(mutex, FRONT_CALLER);
}

static FRONT_INLINE int front_trylock(pthread_mutex_t *mutex, unsigned kind)
{
    if (!front_is_common(kind) || __builtin_expect(lock_core_elides(), 0))
        return front_trylock_any(mutex, kind, FRONT_CALLER);
    /* Looks first: programs poll with trylock, and a failing exchange would take the line away from
     * the holder each time. */
    if (!mutex_is_free(mutex) || !lock_core_try_atomic(mutex))
        return EBUSY;
    return front_become_owner_fast(mutex) ? 0 : front_become_owner_slow(mutex, FRONT_CALLER);
}

static FRONT_INLINE int front_unlock(pthread_mutex_t *mutex, unsigned kind)
{
    /* A free one may be elided, or not locked at all. */
    if (!front_is_common(kind) || __builtin_expect(mutex_is_free(mutex), 0))
        return front_unlock_any(mutex, kind);
    return front_give_up(mutex);
}

#endif
