/*
 * SPDX-License-Identifier: MIT
 *
 * Cancellation and thread exit: a thread cancelled in a condition wait runs its clean-up handlers
 * with the mutex held and can unlock it there; locking is no cancellation point; a lock held when
 * its thread ends stays held.
 */
#include "lock_check.h"

static pthread_mutex_t mutex;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int waiting, cleaned;

static void unlock_in_clean_up(void *argument)
{
    (void)argument;
    cleaned++; /* with the mutex held: nothing else protects it */
    waiting--;
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

static void *wait_for_ever(void *way)
{
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    waiting++;
    pthread_cleanup_push(unlock_in_clean_up, NULL);
    for (;;) {
        struct timespec far;
        switch ((long)way % 3) {
        case 0:
            CHECK_EQUAL(pthread_cond_wait(&condition, &mutex), 0);
            break;
        case 1:
            far = time_from_now(CLOCK_REALTIME, 1000000);
            CHECK_EQUAL(pthread_cond_timedwait(&condition, &mutex, &far), 0);
            break;
        case 2:
            far = time_from_now(CLOCK_MONOTONIC, 1000000);
            CHECK_EQUAL(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &far), 0);
            break;
        }
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void check_cancelled_waits(int type)
{
    enum { WAITERS = 6, ROUNDS = 10 };
    pthread_t threads[WAITERS];

    make_mutex(&mutex, type);
    for (int round = 0; round < ROUNDS; round++) {
        int now_waiting;
        cleaned = 0;
        for (long i = 0; i < WAITERS; i++)
            threads[i] = start_thread(wait_for_ever, (void *)i);
        do { /* in the wait, or on the way to it: both must work, the first is what is meant */
            sched_yield();
            CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
            now_waiting = waiting;
            CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        } while (now_waiting < WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            if (i % 2 == 0)
                CHECK_EQUAL(pthread_cond_broadcast(&condition), 0);
            CHECK_EQUAL(pthread_cancel(threads[i]), 0);
        }
        for (int i = 0; i < WAITERS; i++)
            CHECK(end_thread(threads[i]) == PTHREAD_CANCELED);
        CHECK_EQUAL(cleaned, WAITERS);
        CHECK_EQUAL(waiting, 0);
        CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    }
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

static pthread_mutex_t held_by_main = PTHREAD_MUTEX_INITIALIZER;
static bool got_it;

static void *lock_although_cancelled(void *argument)
{
    (void)argument;
    CHECK_EQUAL(pthread_mutex_lock(&held_by_main), 0);
    got_it = true;
    CHECK_EQUAL(pthread_mutex_unlock(&held_by_main), 0);
    pthread_testcancel();
    return NULL;
}

static void check_that_lock_is_no_cancellation_point(void)
{
    struct timespec pause = {.tv_nsec = 20000000};

    CHECK_EQUAL(pthread_mutex_lock(&held_by_main), 0);
    pthread_t thread = start_thread(lock_although_cancelled, NULL);
    nanosleep(&pause, NULL); /* time to be waiting */
    CHECK_EQUAL(pthread_cancel(thread), 0);
    nanosleep(&pause, NULL);
    CHECK(!got_it);
    CHECK_EQUAL(pthread_mutex_unlock(&held_by_main), 0);
    CHECK(end_thread(thread) == PTHREAD_CANCELED);
    CHECK(got_it);
}

static void *exit_with_lock(void *argument)
{
    CHECK_EQUAL(pthread_mutex_lock(argument), 0);
    pthread_exit(argument);
}

static void check_that_a_lock_outlives_its_thread(void)
{
    pthread_mutex_t orphan = PTHREAD_MUTEX_INITIALIZER;
    struct timespec soon = time_from_now(CLOCK_REALTIME, 2);

    CHECK(elsewhere(exit_with_lock, &orphan) == &orphan);
    CHECK_EQUAL(pthread_mutex_trylock(&orphan), EBUSY);
    CHECK_EQUAL(pthread_mutex_timedlock(&orphan, &soon), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_unlock(&orphan), 0); /* a normal mutex does not ask who */
    CHECK_EQUAL(pthread_mutex_lock(&orphan), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&orphan), 0);
}

int main(void)
{
    check_cancelled_waits(PTHREAD_MUTEX_DEFAULT);
    check_cancelled_waits(PTHREAD_MUTEX_ERRORCHECK);
    check_cancelled_waits(PTHREAD_MUTEX_RECURSIVE);
    check_that_lock_is_no_cancellation_point();
    check_that_a_lock_outlives_its_thread();
    return 0;
}
