/*
 * SPDX-License-Identifier: MIT
 *
 * The pthread_rwlock family as programs see it. Lock and unlock of a rwlock that nobody waits for
 * run from top to bottom without a call and without a stack frame; everything else leaves by a tail
 * call. A process-shared rwlock is libc's in all functions.
 *
 * init, destroy and the attributes stay libc's: init writes zeroes, the kind and whether the lock
 * is shared, destroy does nothing.
 *
 * Which error comes first follows glibc: a malformed deadline or clock before everything else, then
 * EDEADLK to the writer.
 */
#include "base/probes.h"
#include "mutex/lock_core.h"
#include "mutex/rwlock/next_rwlock.h"
#include "mutex/second_name.h"
#include "mutex/statistics/statistics.h"
#include "mutex/thread_id.h"

#include <errno.h>

#define EXPORT __attribute__((visibility("default")))

/* Inlined at every optimisation level, for CALLER to name the exported function's caller. */
#define ENTRY_INLINE inline __attribute__((always_inline))
#define CALLER       __builtin_return_address(0)

static inline const void *key_of(pthread_rwlock_t *rwlock)
{
    return lock_key(rwlock, LOCK_RWLOCK);
}

static __attribute__((noinline, cold)) int count_acquired(pthread_rwlock_t *rwlock,
                                                          const void *caller)
{
    statistics_acquired(key_of(rwlock), caller, lock_core_in_transaction());
    return 0;
}

static inline int acquired(pthread_rwlock_t *rwlock, const void *caller)
{
    return statistics_on() ? count_acquired(rwlock, caller) : 0;
}

/* ---- lock ---- */

static inline bool try_physical(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return side == RWLOCK_READ ? tts_rwlock_try_read_any(rwlock)
                               : tts_rwlock_try_write(rwlock, thread_id());
}

/* Whoever waits leaves a transaction; that comes first, for inside one nothing is counted. */
static inline void begin_wait(pthread_rwlock_t *rwlock)
{
    lock_core_leave_transaction();
    PROBE1(contention_begin, rwlock);
    if (statistics_on())
        statistics_wait_begins(key_of(rwlock));
}

/* What libc answered after it waited. */
static int waited(pthread_rwlock_t *rwlock, const void *caller, int error)
{
    PROBE3(contention_end, rwlock, caller, error);
    if (error == 0)
        return acquired(rwlock, caller);
    if (statistics_on())
        statistics_gave_up(key_of(rwlock), caller);
    return error;
}

/* Takes it physically, waiting as long as it takes. */
static __attribute__((noinline)) int lock_physical(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                                   const void *caller)
{
    if (try_physical(rwlock, side))
        return acquired(rwlock, caller);
    begin_wait(rwlock);
    /* Two cases in which libc answers at once: the caller is the writer; there are too many
     * readers. */
    if (rwlock_writer(rwlock) != thread_id() &&
        !(side == RWLOCK_READ && rwlock_is_readable(rwlock, rwlock_state(rwlock))) &&
        tts_rwlock_spin(rwlock, side))
        return waited(rwlock, caller, 0);
    return waited(rwlock, caller, next_rwlock_lock(rwlock, side));
}

static __attribute__((noinline)) int lock_elided(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                                 const void *caller)
{
    return lock_core_elide_rwlock(rwlock, side, caller) ? 0 : lock_physical(rwlock, side, caller);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
    if (__builtin_expect(rwlock_is_shared(rwlock), 0))
        return next_rwlock_lock(rwlock, RWLOCK_READ);
    if (__builtin_expect(lock_core_elides(), 0))
        return lock_elided(rwlock, RWLOCK_READ, CALLER);
    if (__builtin_expect(!tts_rwlock_try_read(rwlock), 0))
        return lock_physical(rwlock, RWLOCK_READ, CALLER);
    return acquired(rwlock, CALLER);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
    int self = thread_id_if_known();

    if (__builtin_expect(rwlock_is_shared(rwlock), 0))
        return next_rwlock_lock(rwlock, RWLOCK_WRITE);
    if (__builtin_expect(lock_core_elides(), 0))
        return lock_elided(rwlock, RWLOCK_WRITE, CALLER);
    if (__builtin_expect(self == 0 || !tts_rwlock_try_write(rwlock, self), 0))
        return lock_physical(rwlock, RWLOCK_WRITE, CALLER);
    return acquired(rwlock, CALLER);
}

/* ---- try: never waits ---- */

static ENTRY_INLINE int trylock(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    if (rwlock_is_shared(rwlock))
        return next_rwlock_trylock(rwlock, side);
    if (lock_core_try_elide_rwlock(rwlock, side, CALLER))
        return 0;
    if (!try_physical(rwlock, side)) {
        int error = next_rwlock_trylock(rwlock, side);
        if (error != 0)
            return error;
    }
    return acquired(rwlock, CALLER);
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock)
{
    return trylock(rwlock, RWLOCK_READ);
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
    return trylock(rwlock, RWLOCK_WRITE);
}

/* ---- with a deadline ---- */

static inline bool is_no_time(const struct timespec *deadline)
{
    return deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000;
}

/* True: it is taken, in one way or the other. It does not spin: libc watches the deadline. */
static ENTRY_INLINE bool try_before_deadline(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    if (lock_core_try_elide_rwlock(rwlock, side, CALLER))
        return true;
    if (try_physical(rwlock, side)) {
        (void)acquired(rwlock, CALLER);
        return true;
    }
    begin_wait(rwlock);
    return false;
}

static ENTRY_INLINE int timedlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                  const struct timespec *deadline)
{
    if (rwlock_is_shared(rwlock))
        return next_rwlock_timedlock(rwlock, side, deadline);
    if (is_no_time(deadline))
        return EINVAL;
    if (try_before_deadline(rwlock, side))
        return 0;
    return waited(rwlock, CALLER, next_rwlock_timedlock(rwlock, side, deadline));
}

static ENTRY_INLINE int clocklock(pthread_rwlock_t *rwlock, enum rwlock_side side, clockid_t clock,
                                  const struct timespec *deadline)
{
    if (rwlock_is_shared(rwlock))
        return next_rwlock_clocklock(rwlock, side, clock, deadline);
    if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || is_no_time(deadline))
        return EINVAL;
    if (try_before_deadline(rwlock, side))
        return 0;
    return waited(rwlock, CALLER, next_rwlock_clocklock(rwlock, side, clock, deadline));
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict rwlock,
                                      const struct timespec *restrict deadline)
{
    return timedlock(rwlock, RWLOCK_READ, deadline);
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict rwlock,
                                      const struct timespec *restrict deadline)
{
    return timedlock(rwlock, RWLOCK_WRITE, deadline);
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict rwlock, clockid_t clock,
                                      const struct timespec *restrict deadline)
{
    return clocklock(rwlock, RWLOCK_READ, clock, deadline);
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict rwlock, clockid_t clock,
                                      const struct timespec *restrict deadline)
{
    return clocklock(rwlock, RWLOCK_WRITE, clock, deadline);
}

/* ---- unlock ---- */

/*
 * Somebody waits, or has to be told of a change of phase, or nobody has the lock. By the state and
 * not by __cur_writer, which in the child of fork names the parent's thread: who unlocks a lock
 * that is written is its writer.
 */
static __attribute__((noinline)) int unlock_any(pthread_rwlock_t *rwlock)
{
    unsigned state = rwlock_state(rwlock);

    if ((state & RWLOCK_WRITTEN) == RWLOCK_WRITTEN) {
        rwlock_set_writer(rwlock, thread_id());
        return next_rwlock_unlock(rwlock);
    }
    if ((state & RWLOCK_WRITE_PHASE) || state < RWLOCK_READER) {
        /*
         * Free: elided by this thread, or not locked at all, which is undefined and lets pass what
         * libc would count as a reader less than none. The order of the two tests matters: ending a
         * transaction where there is none is a fault.
         */
        if (rwlock_state_is_free(state))
            (void)lock_core_end_elided_rwlock(rwlock);
        return 0;
    }
    return tts_rwlock_end_read(rwlock, state) ? 0 : next_rwlock_unlock(rwlock);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
    if (__builtin_expect(rwlock_is_shared(rwlock), 0))
        return next_rwlock_unlock(rwlock);
    unsigned state = rwlock_state(rwlock);
    if (state == RWLOCK_WRITTEN) {
        if (__builtin_expect(tts_rwlock_end_write(rwlock), 1))
            return 0;
    } else if (__builtin_expect((state & RWLOCK_FLAGS) == 0 && state != 0, 1)) {
        if (__builtin_expect(tts_rwlock_end_read(rwlock, state), 1))
            return 0;
    }
    return unlock_any(rwlock);
}

/* ---- libc's second names, for its own callers ---- */

ALSO_AS(__pthread_rwlock_rdlock, pthread_rwlock_rdlock);
ALSO_AS(__pthread_rwlock_wrlock, pthread_rwlock_wrlock);
ALSO_AS(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock);
ALSO_AS(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock);
ALSO_AS(__pthread_rwlock_unlock, pthread_rwlock_unlock);
