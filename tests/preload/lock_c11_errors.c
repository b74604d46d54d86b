/*
 * SPDX-License-Identifier: MIT
 *
 * Every answer of C11's mutex functions, for each type that mtx_init knows and some that it does
 * not, and of the condition waits.
 */
#include "lock_check.h"

#include <limits.h>
#include <threads.h>

static const struct timespec long_ago = {.tv_sec = 1};

struct row {
    int type;
    int try_again; /* trylock and timedlock by the holder */
    int timed_again;
    int unlock_other; /* unlock by a thread that does not hold it; -1: undefined */
    int unlock_free;
};

static int try_it(void *mutex)
{
    int code = mtx_trylock(mutex);

    if (code == thrd_success)
        CHECK_EQUAL(mtx_unlock(mutex), thrd_success);
    return code;
}

static int timed_try_it(void *mutex)
{
    static const struct timespec malformed[] = {
        {.tv_nsec = -1}, {.tv_nsec = 1000000000}, {.tv_sec = LONG_MAX, .tv_nsec = LONG_MIN}};
    const struct timespec negative = {.tv_sec = -1, .tv_nsec = -1};

    for (unsigned i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        CHECK_EQUAL(mtx_timedlock(mutex, &malformed[i]), thrd_error);
    CHECK_EQUAL(mtx_timedlock(mutex, &negative), thrd_timedout);

    struct timespec soon = time_from_now(CLOCK_REALTIME, 5);
    CHECK_EQUAL(mtx_timedlock(mutex, &soon), thrd_timedout);
    CHECK(time_has_come(CLOCK_REALTIME, &soon));
    return mtx_timedlock(mutex, &long_ago);
}

static int unlock_it(void *mutex)
{
    return mtx_unlock(mutex);
}

static int elsewhere_c11(int (*function)(void *), void *argument)
{
    thrd_t thread;
    int result;

    CHECK_EQUAL(thrd_create(&thread, function, argument), thrd_success);
    CHECK_EQUAL(thrd_join(thread, &result), thrd_success);
    return result;
}

static void check_waits(mtx_t *mutex)
{
    const struct timespec malformed = {.tv_nsec = 1000000000};
    struct timespec soon = time_from_now(CLOCK_REALTIME, 5);
    cnd_t condition;

    CHECK_EQUAL(cnd_init(&condition), thrd_success);
    CHECK_EQUAL(mtx_lock(mutex), thrd_success);
    CHECK_EQUAL(cnd_timedwait(&condition, mutex, &soon), thrd_timedout);
    CHECK(time_has_come(CLOCK_REALTIME, &soon));
    CHECK_EQUAL(elsewhere_c11(try_it, mutex), thrd_busy);
    CHECK_EQUAL(cnd_timedwait(&condition, mutex, &malformed), thrd_error);
    CHECK_EQUAL(elsewhere_c11(try_it, mutex), thrd_busy);
    CHECK_EQUAL(mtx_unlock(mutex), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, mutex), thrd_success);
    cnd_destroy(&condition);
}

static void check_row(const struct row *row)
{
    const struct timespec malformed = {.tv_nsec = -1};
    mtx_t mutex;

    memset(&mutex, 0x5a, sizeof mutex);
    printf("mtx_init with %d\n", row->type);
    CHECK_EQUAL(mtx_init(&mutex, row->type), thrd_success);

    CHECK_EQUAL(mtx_lock(&mutex), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &mutex), thrd_busy);
    CHECK_EQUAL(elsewhere_c11(timed_try_it, &mutex), thrd_timedout);
    if (row->unlock_other >= 0)
        CHECK_EQUAL(elsewhere_c11(unlock_it, &mutex), row->unlock_other);
    CHECK_EQUAL(mtx_trylock(&mutex), row->try_again);
    CHECK_EQUAL(mtx_timedlock(&mutex, &long_ago), row->timed_again);
    mtx_destroy(&mutex); /* says nothing, and leaves a held one alone */
    for (int n = (row->try_again == thrd_success) + (row->timed_again == thrd_success); n > 0; n--)
        CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &mutex), thrd_busy);
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);

    CHECK_EQUAL(mtx_trylock(&mutex), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &mutex), thrd_busy);
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);
    /* Free: the deadline is not looked at. */
    CHECK_EQUAL(mtx_timedlock(&mutex, &malformed), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &mutex), thrd_busy);
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);
    check_waits(&mutex);
    mtx_destroy(&mutex);
    CHECK_EQUAL(mtx_lock(&mutex), thrd_error);
    CHECK_EQUAL(mtx_trylock(&mutex), thrd_error);
    CHECK_EQUAL(mtx_timedlock(&mutex, &long_ago), thrd_error);
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_error);
}

/* Undefined but for the recursive ones, and libc lets it pass: the lock still works afterwards. */
static void check_unlock_of_a_free_mutex(const struct row *row)
{
    mtx_t mutex;

    CHECK_EQUAL(mtx_init(&mutex, row->type), thrd_success);
    CHECK_EQUAL(mtx_unlock(&mutex), row->unlock_free);
    CHECK_EQUAL(mtx_lock(&mutex), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &mutex), thrd_busy);
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);
    CHECK_EQUAL(mtx_unlock(&mutex), row->unlock_free);
}

/* The depth of a recursive one, which is a pthread_mutex_t by another name, at its greatest. */
static void check_recursion_overflow(void)
{
    mtx_t mutex;
    unsigned *depth = &((pthread_mutex_t *)&mutex)->__data.__count;

    CHECK_EQUAL(mtx_init(&mutex, mtx_recursive), thrd_success);
    CHECK_EQUAL(mtx_lock(&mutex), thrd_success);
    CHECK_EQUAL(*depth, 1);
    *depth = UINT_MAX;
    CHECK_EQUAL(mtx_lock(&mutex), thrd_error);
    CHECK_EQUAL(mtx_trylock(&mutex), thrd_error);
    CHECK_EQUAL(mtx_timedlock(&mutex, &long_ago), thrd_error);
    *depth = 1;
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &mutex), thrd_success);
    mtx_destroy(&mutex);
}

/* A condition wait gives the mutex up, and so fails where unlock would. */
static void check_a_wait_without_the_lock(void)
{
    mtx_t mutex;
    cnd_t condition;

    CHECK_EQUAL(mtx_init(&mutex, mtx_recursive), thrd_success);
    CHECK_EQUAL(cnd_init(&condition), thrd_success);
    CHECK_EQUAL(cnd_wait(&condition, &mutex), thrd_error);
    CHECK_EQUAL(cnd_timedwait(&condition, &mutex, &long_ago), thrd_error);
    cnd_destroy(&condition);
    mtx_destroy(&mutex);
}

int main(void)
{
    /* The columns: see struct row. libc takes a type that it does not know for mtx_plain. */
    static const struct row rows[] = {
        {mtx_plain, thrd_busy, thrd_timedout, -1, thrd_success},
        {mtx_timed, thrd_busy, thrd_timedout, -1, thrd_success},
        {mtx_plain | mtx_recursive, thrd_success, thrd_success, thrd_error, thrd_error},
        {mtx_timed | mtx_recursive, thrd_success, thrd_success, thrd_error, thrd_error},
        {4, thrd_busy, thrd_timedout, -1, thrd_success},
        {-1, thrd_busy, thrd_timedout, -1, thrd_success},
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i]);
        check_unlock_of_a_free_mutex(&rows[i]);
    }
    check_recursion_overflow();
    check_a_wait_without_the_lock();
    return 0;
}
