/*
 * SPDX-License-Identifier: MIT
 *
 * Pass-through to the next definitions; see next_rwlock.h. Each can also resolve itself, as
 * mutex/next_mutex.c says.
 */
#include "mutex/rwlock/next_rwlock.h"

#include "base/real_symbol.h"

#include <errno.h>

enum function { LOCK, TRYLOCK, TIMEDLOCK, CLOCKLOCK, UNLOCK, FUNCTION_COUNT };

/* By side; an unlock has none. */
static const char *const names[FUNCTION_COUNT][2] = {
    [LOCK] = {"pthread_rwlock_rdlock", "pthread_rwlock_wrlock"},
    [TRYLOCK] = {"pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock"},
    [TIMEDLOCK] = {"pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock"},
    [CLOCKLOCK] = {"pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock"},
    [UNLOCK] = {"pthread_rwlock_unlock", "pthread_rwlock_unlock"},
};

/* Every thread finds the same address: a race writes the same value twice, and code needs no
 * ordering. */
static void *addresses[FUNCTION_COUNT][2];

static void *resolve(enum function function, enum rwlock_side side)
{
    void *address = real_symbol(names[function][side], NULL);

    __atomic_store_n(&addresses[function][side], address, __ATOMIC_RELAXED);
    return address;
}

/* NULL where libc lacks the function (the clock variants came with 2.30). */
static void *next(enum function function, enum rwlock_side side)
{
    void *address = __atomic_load_n(&addresses[function][side], __ATOMIC_RELAXED);

    return address != NULL ? address : resolve(function, side);
}

void next_rwlock_resolve(void)
{
    for (int function = 0; function < FUNCTION_COUNT; function++) {
        (void)resolve((enum function)function, RWLOCK_READ);
        (void)resolve((enum function)function, RWLOCK_WRITE);
    }
}

static int call_with_rwlock(enum function function, pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    int (*call)(pthread_rwlock_t *) = next(function, side);

    return call != NULL ? call(rwlock) : ENOTSUP;
}

int next_rwlock_lock(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return call_with_rwlock(LOCK, rwlock, side);
}

int next_rwlock_trylock(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return call_with_rwlock(TRYLOCK, rwlock, side);
}

int next_rwlock_timedlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                          const struct timespec *deadline)
{
    int (*call)(pthread_rwlock_t *, const struct timespec *) = next(TIMEDLOCK, side);

    return call != NULL ? call(rwlock, deadline) : ENOTSUP;
}

int next_rwlock_clocklock(pthread_rwlock_t *rwlock, enum rwlock_side side, clockid_t clock,
                          const struct timespec *deadline)
{
    int (*call)(pthread_rwlock_t *, clockid_t, const struct timespec *) = next(CLOCKLOCK, side);

    return call != NULL ? call(rwlock, clock, deadline) : ENOTSUP;
}

int next_rwlock_unlock(pthread_rwlock_t *rwlock)
{
    return call_with_rwlock(UNLOCK, rwlock, RWLOCK_READ);
}
