/*
 * SPDX-License-Identifier: MIT
 *
 * Pass-through to the next definitions; see next_mutex.h.
 *
 * A constructor of another library may lock before ours ran, so each function can also resolve
 * itself. dlsym takes the loader's lock by a call inside libc that no interposition sees, and any
 * mutex that an allocator might lock meanwhile is of a kind that we serve without asking anybody:
 * the look-up cannot come back here.
 */
#include "mutex/next_mutex.h"

#include "base/real_symbol.h"
#include "base/report.h"

#include <errno.h>

enum function {
    INIT,
    DESTROY,
    LOCK,
    TRYLOCK,
    TIMEDLOCK,
    CLOCKLOCK,
    UNLOCK,
    CONSISTENT,
    GETPRIOCEILING,
    SETPRIOCEILING,
    FUNCTION_COUNT
};

static const char *const names[FUNCTION_COUNT] = {
    [INIT] = "pthread_mutex_init",
    [DESTROY] = "pthread_mutex_destroy",
    [LOCK] = "pthread_mutex_lock",
    [TRYLOCK] = "pthread_mutex_trylock",
    [TIMEDLOCK] = "pthread_mutex_timedlock",
    [CLOCKLOCK] = "pthread_mutex_clocklock",
    [UNLOCK] = "pthread_mutex_unlock",
    [CONSISTENT] = "pthread_mutex_consistent",
    [GETPRIOCEILING] = "pthread_mutex_getprioceiling",
    [SETPRIOCEILING] = "pthread_mutex_setprioceiling",
};

/* Every thread finds the same address: a race writes the same value twice, and code needs no
 * ordering. */
static void *addresses[FUNCTION_COUNT];

static void *resolve(enum function function)
{
    void *address = real_symbol(names[function], NULL);

    __atomic_store_n(&addresses[function], address, __ATOMIC_RELAXED);
    return address;
}

/* NULL where libc lacks the function (pthread_mutex_clocklock came with 2.30). */
static void *next(enum function function)
{
    void *address = __atomic_load_n(&addresses[function], __ATOMIC_RELAXED);

    return address != NULL ? address : resolve(function);
}

void next_mutex_resolve(void)
{
    for (int function = 0; function < FUNCTION_COUNT; function++)
        (void)resolve((enum function)function);
    if (addresses[LOCK] == NULL)
        report_line("mplace: the lock library finds no libc behind it, as in a static program: "
                    "condition variables, and mutexes and rwlocks that libc serves, do not work");
}

int next_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    int (*call)(pthread_mutex_t *, const pthread_mutexattr_t *) = next(INIT);

    return call != NULL ? call(mutex, attributes) : ENOTSUP;
}

static int call_with_mutex(enum function function, pthread_mutex_t *mutex)
{
    int (*call)(pthread_mutex_t *) = next(function);

    return call != NULL ? call(mutex) : ENOTSUP;
}

int next_mutex_destroy(pthread_mutex_t *mutex)
{
    return call_with_mutex(DESTROY, mutex);
}

int next_mutex_lock(pthread_mutex_t *mutex)
{
    return call_with_mutex(LOCK, mutex);
}

int next_mutex_trylock(pthread_mutex_t *mutex)
{
    return call_with_mutex(TRYLOCK, mutex);
}

int next_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline)
{
    int (*call)(pthread_mutex_t *, const struct timespec *) = next(TIMEDLOCK);

    return call != NULL ? call(mutex, deadline) : ENOTSUP;
}

int next_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline)
{
    int (*call)(pthread_mutex_t *, clockid_t, const struct timespec *) = next(CLOCKLOCK);

    return call != NULL ? call(mutex, clock, deadline) : ENOTSUP;
}

int next_mutex_unlock(pthread_mutex_t *mutex)
{
    return call_with_mutex(UNLOCK, mutex);
}

int next_mutex_consistent(pthread_mutex_t *mutex)
{
    return call_with_mutex(CONSISTENT, mutex);
}

int next_mutex_getprioceiling(const pthread_mutex_t *mutex, int *ceiling)
{
    int (*call)(const pthread_mutex_t *, int *) = next(GETPRIOCEILING);

    return call != NULL ? call(mutex, ceiling) : ENOTSUP;
}

int next_mutex_setprioceiling(pthread_mutex_t *mutex, int ceiling, int *old)
{
    int (*call)(pthread_mutex_t *, int, int *) = next(SETPRIOCEILING);

    return call != NULL ? call(mutex, ceiling, old) : ENOTSUP;
}
