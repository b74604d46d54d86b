/*
 * SPDX-License-Identifier: MIT
 *
 * Every error code of the four mutex types, in every way a mutex comes to be: pthread_mutex_init
 * with attributes and without, and the static initialisers. Beside this one: lock_deadlines.c for
 * the times, lock_c11_errors.c for C11's codes, lock_foreign.c for the other kinds of mutex.
 */
#include "lock_check.h"

#include <limits.h>

struct row {
    const char *name;
    pthread_mutex_t mutex;
    int lock_again;   /* lock by the holder; -1: would deadlock, not tried */
    int try_again;    /* trylock by the holder */
    int timed_again;  /* timedlock by the holder, deadline passed */
    int unlock_other; /* unlock by a thread that does not hold it, while held; -1: undefined */
    int unlock_free;  /* unlock while nobody holds it */
};

static const struct timespec long_ago = {.tv_sec = 1};

static void *try_it(void *mutex)
{
    int error = pthread_mutex_trylock(mutex);

    if (error == 0)
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    return (void *)(long)error;
}

static void *timed_try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_timedlock(mutex, &long_ago);
}

static void *clock_try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &long_ago);
}

static void *unlock_it(void *mutex)
{
    return (void *)(long)pthread_mutex_unlock(mutex);
}

static void *destroy_it(void *mutex)
{
    return (void *)(long)pthread_mutex_destroy(mutex);
}

/* Robustness and ceilings belong to mutexes of other kinds. */
static void check_that_it_has_no_ceiling_and_no_robustness(pthread_mutex_t *mutex)
{
    int ceiling = -7;

    CHECK_EQUAL(pthread_mutex_consistent(mutex), EINVAL);
    CHECK_EQUAL(pthread_mutex_getprioceiling(mutex, &ceiling), EINVAL);
    CHECK_EQUAL(pthread_mutex_setprioceiling(mutex, 1, &ceiling), EINVAL);
    CHECK_EQUAL(ceiling, -7);
}

/* A condition wait gives the mutex up, and so fails where unlock would. */
static void check_a_wait_without_the_lock(pthread_mutex_t *mutex, int error)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    CHECK_EQUAL(pthread_cond_wait(&condition, mutex), error);
    CHECK_EQUAL(pthread_cond_timedwait(&condition, mutex, &long_ago), error);
    CHECK_EQUAL(pthread_cond_clockwait(&condition, mutex, CLOCK_MONOTONIC, &long_ago), error);
    CHECK_EQUAL(pthread_cond_destroy(&condition), 0);
}

static void check_row(struct row *row)
{
    pthread_mutex_t *mutex = &row->mutex;

    printf("%s\n", row->name);
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
    CHECK_EQUAL(elsewhere(timed_try_it, mutex), ETIMEDOUT);
    CHECK_EQUAL(elsewhere(clock_try_it, mutex), ETIMEDOUT);
    CHECK_EQUAL(elsewhere(destroy_it, mutex), EBUSY);
    check_that_it_has_no_ceiling_and_no_robustness(mutex);
    if (row->unlock_other >= 0)
        CHECK_EQUAL(elsewhere(unlock_it, mutex), row->unlock_other);
    if (row->lock_again >= 0)
        CHECK_EQUAL(pthread_mutex_lock(mutex), row->lock_again);
    CHECK_EQUAL(pthread_mutex_trylock(mutex), row->try_again);
    CHECK_EQUAL(pthread_mutex_timedlock(mutex, &long_ago), row->timed_again);
    CHECK_EQUAL(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &long_ago), row->timed_again);
    CHECK_EQUAL(pthread_mutex_destroy(mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);

    /* Each time that a recursive lock succeeded needs its unlock. */
    for (int n = (row->lock_again == 0) + (row->try_again == 0) + 2 * (row->timed_again == 0);
         n > 0; n--) {
        CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    }
    CHECK_EQUAL(elsewhere(try_it, mutex), 0);

    CHECK_EQUAL(pthread_mutex_trylock(mutex), 0);
    CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    check_that_it_has_no_ceiling_and_no_robustness(mutex);
    if (row->unlock_free != 0)
        check_a_wait_without_the_lock(mutex, row->unlock_free);
    CHECK_EQUAL(pthread_mutex_destroy(mutex), 0);
}

/* A recursive mutex at its greatest depth says EAGAIN; nobody can wait for 2^32 locks. */
static void check_recursion_overflow(void)
{
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    mutex.__data.__count = UINT_MAX;
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EAGAIN);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), EAGAIN);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &long_ago), EAGAIN);
    CHECK_EQUAL(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &long_ago), EAGAIN);
    mutex.__data.__count = 1;
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(elsewhere(try_it, &mutex), 0);
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

/* Undefined by POSIX for two of the types, but programs do it and glibc lets them live. */
static void check_unlock_of_a_free_mutex(const struct row *row)
{
    pthread_mutex_t mutex = row->mutex;

    CHECK_EQUAL(pthread_mutex_unlock(&mutex), row->unlock_free);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(elsewhere(try_it, &mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), row->unlock_free);
}

static void check_destroyed(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EINVAL);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), EINVAL);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &long_ago), EINVAL);
    CHECK_EQUAL(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &long_ago), EINVAL);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), EINVAL);
    CHECK_EQUAL(pthread_mutex_consistent(&mutex), EINVAL);
    CHECK_EQUAL(pthread_mutex_init(&mutex, NULL), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

int main(void)
{
    /* The columns: see struct row. */
    struct row rows[] = {
        {"PTHREAD_MUTEX_INITIALIZER", PTHREAD_MUTEX_INITIALIZER, -1, EBUSY, ETIMEDOUT, -1, 0},
        {"PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP", PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, -1, EBUSY,
         ETIMEDOUT, -1, 0},
        {"PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP", PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, 0, 0, 0,
         EPERM, EPERM},
        {"PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP", PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
         EDEADLK, EBUSY, EDEADLK, EPERM, EPERM},
        {"init without attributes", {{0}}, -1, EBUSY, ETIMEDOUT, -1, 0},
        {"init PTHREAD_MUTEX_NORMAL", {{0}}, -1, EBUSY, ETIMEDOUT, -1, 0},
        {"init PTHREAD_MUTEX_DEFAULT", {{0}}, -1, EBUSY, ETIMEDOUT, -1, 0},
        {"init PTHREAD_MUTEX_ADAPTIVE_NP", {{0}}, -1, EBUSY, ETIMEDOUT, -1, 0},
        {"init PTHREAD_MUTEX_RECURSIVE", {{0}}, 0, 0, 0, EPERM, EPERM},
        {"init PTHREAD_MUTEX_ERRORCHECK", {{0}}, EDEADLK, EBUSY, EDEADLK, EPERM, EPERM},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };

    CHECK_EQUAL(pthread_mutex_init(&rows[4].mutex, NULL), 0);
    make_mutex(&rows[5].mutex, PTHREAD_MUTEX_NORMAL);
    make_mutex(&rows[6].mutex, PTHREAD_MUTEX_DEFAULT);
    make_mutex(&rows[7].mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
    make_mutex(&rows[8].mutex, PTHREAD_MUTEX_RECURSIVE);
    make_mutex(&rows[9].mutex, PTHREAD_MUTEX_ERRORCHECK);

    for (int i = 0; i < ROWS; i++) {
        check_unlock_of_a_free_mutex(&rows[i]);
        check_row(&rows[i]);
    }
    check_recursion_overflow();
    check_destroyed();
    return 0;
}
