/*
 * SPDX-License-Identifier: MIT
 *
 * The mutexes that are the C library's alone: process-shared, robust, priority-inheriting,
 * priority-protected. They keep their whole behaviour, of each type, and in condition waits.
 * lock_shared.c has them between processes.
 */
#include "lock_check.h"

#include <sched.h>

static const struct timespec long_ago = {.tv_sec = 1};

static void *try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_trylock(mutex);
}

static void *timed_try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_timedlock(mutex, &long_ago);
}

static void *die_with_it(void *mutex)
{
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    return NULL;
}

static void set_up(pthread_mutex_t *mutex, int robust, int protocol, int shared, int type)
{
    pthread_mutexattr_t attributes;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, robust), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, protocol), 0);
    CHECK_EQUAL(pthread_mutexattr_setpshared(&attributes, shared), 0);
    CHECK_EQUAL(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQUAL(pthread_mutex_init(mutex, &attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_destroy(&attributes), 0);
}

static void *unlock_it(void *mutex)
{
    return (void *)(long)pthread_mutex_unlock(mutex);
}

static int unlock_by_another(int type, bool robust, const pthread_mutex_t *mutex)
{
    bool inherits = mutex->__data.__kind & 32; /* libc's bit */

    return type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK || robust || inherits
               ? EPERM
               : -1; /* undefined */
}

static void check_basics(pthread_mutex_t *mutex, int type, bool robust)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    int ceiling = -7;

    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
    CHECK_EQUAL(elsewhere(timed_try_it, mutex), ETIMEDOUT);
    if (unlock_by_another(type, robust, mutex) >= 0)
        CHECK_EQUAL(elsewhere(unlock_it, mutex), unlock_by_another(type, robust, mutex));
    if (type == PTHREAD_MUTEX_ERRORCHECK)
        CHECK_EQUAL(pthread_mutex_lock(mutex), EDEADLK);
    if (type == PTHREAD_MUTEX_RECURSIVE) {
        CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    }
    if (!robust) /* glibc's destroy does not ask whether a robust one is held */
        CHECK_EQUAL(pthread_mutex_destroy(mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_consistent(mutex), EINVAL);
    CHECK_EQUAL(pthread_mutex_getprioceiling(mutex, &ceiling), EINVAL);
    CHECK_EQUAL(pthread_mutex_setprioceiling(mutex, 1, &ceiling), EINVAL);
    CHECK_EQUAL(ceiling, -7);
    CHECK_EQUAL(pthread_cond_timedwait(&condition, mutex, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_trylock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_timedlock(mutex, &long_ago), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &long_ago), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &long_ago), EINVAL);
}

static void check_owner_death(int protocol, int shared, int type)
{
    pthread_mutex_t mutex;

    set_up(&mutex, PTHREAD_MUTEX_ROBUST, protocol, shared, type);
    elsewhere(die_with_it, &mutex);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_consistent(&mutex), EINVAL); /* it is already */
    CHECK_EQUAL(elsewhere(try_it, &mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    elsewhere(die_with_it, &mutex);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &long_ago), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    elsewhere(die_with_it, &mutex);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0); /* not made consistent: lost for ever */
    CHECK_EQUAL(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &long_ago), ENOTRECOVERABLE);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), ENOTRECOVERABLE); /* last: libc leaves it locked */
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

static void check_protected(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    int ceiling = -1, old = -1;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT), 0);
    CHECK_EQUAL(pthread_mutexattr_setprioceiling(&attributes, 7), 0);
    CHECK_EQUAL(pthread_mutex_init(&mutex, &attributes), 0);
    CHECK_EQUAL(pthread_mutex_getprioceiling(&mutex, &ceiling), 0);
    CHECK_EQUAL(ceiling, 7);
    CHECK_EQUAL(pthread_mutex_setprioceiling(&mutex, 1000, &old), EINVAL);
    /* Locking raises the priority to the ceiling, which only a real-time thread can follow. */
    const struct sched_param real_time = {.sched_priority = 1}, usual = {.sched_priority = 0};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time) == 0) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        CHECK_EQUAL(elsewhere(try_it, &mutex), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_setprioceiling(&mutex, 9, &old), 0);
        CHECK_EQUAL(old, 7);
        CHECK_EQUAL(pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual), 0);
    } else {
        printf("no right to real-time scheduling: the ceiling is only read\n");
        CHECK(pthread_mutex_lock(&mutex) != 0);
    }
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                            PTHREAD_MUTEX_ADAPTIVE_NP};

/* The one combination that libc refuses. */
static void check_what_init_refuses(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT), 0);
    CHECK_EQUAL(pthread_mutex_init(&mutex, &attributes), ENOTSUP);
    CHECK_EQUAL(pthread_mutexattr_destroy(&attributes), 0);
}

int main(void)
{
    static const struct {
        int robust, protocol, shared;
    } rows[] = {
        {PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED},
        {PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE},
        {PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_SHARED},
        {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE},
        {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED},
        {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE},
        {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_SHARED},
    };

    for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        bool robust = rows[row].robust == PTHREAD_MUTEX_ROBUST;
        for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
            pthread_mutex_t mutex;
            set_up(&mutex, rows[row].robust, rows[row].protocol, rows[row].shared, types[i]);
            check_basics(&mutex, types[i], robust);
            CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
            if (robust)
                check_owner_death(rows[row].protocol, rows[row].shared, types[i]);
        }
    }
    check_what_init_refuses();
    check_protected();
    return 0;
}
