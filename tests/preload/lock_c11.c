/*
 * SPDX-License-Identifier: MIT
 *
 * C11's mtx_* and cnd_*, which reach the C library's mutexes by another door, beside pthread ones
 * in the same process.
 */
#include "lock_check.h"

#include <threads.h>

enum { SLOTS = 2, ITEMS = 3000 };

static mtx_t lock;
static cnd_t changed;
static pthread_mutex_t pthread_lock = PTHREAD_MUTEX_INITIALIZER;
static int full;
static long sum, counted;

static int produce(void *argument)
{
    (void)argument;
    for (int i = 1; i <= ITEMS; i++) {
        CHECK_EQUAL(mtx_lock(&lock), thrd_success);
        while (full == SLOTS)
            CHECK_EQUAL(cnd_wait(&changed, &lock), thrd_success);
        full++;
        CHECK_EQUAL(pthread_mutex_lock(&pthread_lock), 0); /* one kind nested in the other */
        counted++;
        CHECK_EQUAL(pthread_mutex_unlock(&pthread_lock), 0);
        CHECK_EQUAL(cnd_broadcast(&changed), thrd_success);
        CHECK_EQUAL(mtx_unlock(&lock), thrd_success);
    }
    return 3;
}

static int consume(void *argument)
{
    (void)argument;
    for (int i = 1; i <= ITEMS; i++) {
        CHECK_EQUAL(mtx_lock(&lock), thrd_success);
        while (full == 0)
            CHECK_EQUAL(cnd_wait(&changed, &lock), thrd_success);
        full--;
        sum += i;
        CHECK_EQUAL(cnd_broadcast(&changed), thrd_success);
        CHECK_EQUAL(mtx_unlock(&lock), thrd_success);
        CHECK_EQUAL(pthread_mutex_lock(&pthread_lock), 0);
        counted++;
        CHECK_EQUAL(pthread_mutex_unlock(&pthread_lock), 0);
    }
    return 4;
}

static int try_it(void *mutex)
{
    return mtx_trylock(mutex);
}

static int elsewhere_c11(int (*function)(void *), void *argument)
{
    thrd_t thread;
    int result;

    CHECK_EQUAL(thrd_create(&thread, function, argument), thrd_success);
    CHECK_EQUAL(thrd_join(thread, &result), thrd_success);
    return result;
}

int main(void)
{
    thrd_t threads[4];
    int result;
    mtx_t recursive, timed;
    struct timespec soon;

    CHECK_EQUAL(mtx_init(&lock, mtx_plain), thrd_success);
    CHECK_EQUAL(cnd_init(&changed), thrd_success);
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(thrd_create(&threads[i], i % 2 ? produce : consume, NULL), thrd_success);
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(thrd_join(threads[i], &result), thrd_success);
        CHECK_EQUAL(result, i % 2 ? 3 : 4);
    }
    CHECK_EQUAL(sum, 2L * ITEMS * (ITEMS + 1) / 2);
    CHECK_EQUAL(counted, 4L * ITEMS);

    CHECK_EQUAL(mtx_init(&recursive, mtx_plain | mtx_recursive), thrd_success);
    CHECK_EQUAL(mtx_lock(&recursive), thrd_success);
    CHECK_EQUAL(mtx_lock(&recursive), thrd_success);
    CHECK_EQUAL(mtx_unlock(&recursive), thrd_success);
    CHECK_EQUAL(elsewhere_c11(try_it, &recursive), thrd_busy);
    CHECK_EQUAL(mtx_unlock(&recursive), thrd_success);

    CHECK_EQUAL(mtx_init(&timed, mtx_timed), thrd_success);
    CHECK_EQUAL(mtx_lock(&timed), thrd_success);
    soon = time_from_now(CLOCK_REALTIME, 3);
    CHECK_EQUAL(mtx_timedlock(&timed, &soon), thrd_timedout);
    CHECK(time_has_come(CLOCK_REALTIME, &soon));
    soon = time_from_now(CLOCK_REALTIME, 3);
    CHECK_EQUAL(cnd_timedwait(&changed, &timed, &soon), thrd_timedout);
    CHECK_EQUAL(elsewhere_c11(try_it, &timed), thrd_busy);
    CHECK_EQUAL(mtx_unlock(&timed), thrd_success);
    mtx_destroy(&timed);
    mtx_destroy(&recursive);
    mtx_destroy(&lock);
    cnd_destroy(&changed);
    return 0;
}
