/*
 * SPDX-License-Identifier: MIT
 *
 * What timedlock and clocklock make of the times and clocks that they are given, for each mutex
 * type: a deadline is looked at only if the call would have to wait, a clock always. A time before
 * 1970 has passed, even one that is malformed besides.
 */
#include "lock_check.h"

#include <limits.h>
#include <sched.h>

enum { NOT_ASKED = -1 };

static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

static const struct timespec malformed[] = {
    {.tv_nsec = -1},
    {.tv_nsec = 1000000000},
    {.tv_nsec = LONG_MAX},
    {.tv_nsec = LONG_MIN},
    {.tv_sec = LONG_MAX, .tv_nsec = 1000000000},
};
enum { MALFORMED = sizeof malformed / sizeof malformed[0] };

static const struct timespec past[] = {
    {.tv_sec = 0},
    {.tv_sec = 1, .tv_nsec = 999999999},
    {.tv_sec = -1},
    {.tv_sec = LONG_MIN, .tv_nsec = 999999999},
    {.tv_sec = -1, .tv_nsec = -1}, /* before 1970 is past, whatever the rest says */
    {.tv_sec = LONG_MIN, .tv_nsec = LONG_MAX},
};
enum { PAST = sizeof past / sizeof past[0] };

static int lock_by(pthread_mutex_t *mutex, int way, const struct timespec *deadline)
{
    return way < 2 ? pthread_mutex_clocklock(mutex, clocks[way], deadline)
                   : pthread_mutex_timedlock(mutex, deadline);
}
enum { WAYS = 3 };

static clockid_t clock_of(int way)
{
    return way < 2 ? clocks[way] : CLOCK_REALTIME;
}

/* No deadline is too bad for a mutex that is free. */
static void check_free(pthread_mutex_t *mutex)
{
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < MALFORMED; i++) {
            CHECK_EQUAL(lock_by(mutex, way, &malformed[i]), 0);
            CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        }
        for (int i = 0; i < PAST; i++) {
            CHECK_EQUAL(lock_by(mutex, way, &past[i]), 0);
            CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        }
    }
}

/* The calling thread does not hold it, another does. */
static void *check_held(void *mutex)
{
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < MALFORMED; i++)
            CHECK_EQUAL(lock_by(mutex, way, &malformed[i]), EINVAL);
        for (int i = 0; i < PAST; i++)
            CHECK_EQUAL(lock_by(mutex, way, &past[i]), ETIMEDOUT);

        struct timespec soon = time_from_now(clock_of(way), 5);
        CHECK_EQUAL(lock_by(mutex, way, &soon), ETIMEDOUT);
        CHECK(time_has_come(clock_of(way), &soon));
    }
    return NULL;
}

/* The calling thread holds it: the answer of these types has nothing to do with time. */
static void check_held_by_me(pthread_mutex_t *mutex, int answer)
{
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < MALFORMED; i++) {
            CHECK_EQUAL(lock_by(mutex, way, &malformed[i]), answer);
            if (answer == 0)
                CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        }
    }
}

static void check_clocks(pthread_mutex_t *mutex)
{
    static const clockid_t unusable[] = {
        CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, CLOCK_TAI,
        CLOCK_MONOTONIC_RAW,      CLOCK_REALTIME_COARSE,   12345,          -1};

    for (unsigned i = 0; i < sizeof unusable / sizeof unusable[0]; i++)
        CHECK_EQUAL(pthread_mutex_clocklock(mutex, unusable[i], &past[0]), EINVAL);
}

/* A deadline that never comes is waited for without trouble. */
struct patient {
    pthread_mutex_t *mutex;
    int way;
    int about_to_wait; /* atomic */
};

static void *wait_for_ever(void *argument)
{
    struct patient *patient = argument;
    const struct timespec never = {.tv_sec = LONG_MAX, .tv_nsec = 999999999};

    __atomic_store_n(&patient->about_to_wait, 1, __ATOMIC_RELEASE);
    CHECK_EQUAL(lock_by(patient->mutex, patient->way, &never), 0);
    CHECK_EQUAL(pthread_mutex_unlock(patient->mutex), 0);
    return NULL;
}

static void check_the_end_of_time(pthread_mutex_t *mutex)
{
    for (int way = 0; way < WAYS; way++) {
        struct patient patient = {.mutex = mutex, .way = way};
        const struct timespec a_moment = {.tv_nsec = 3000000};

        CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
        pthread_t thread = start_thread(wait_for_ever, &patient);
        while (!__atomic_load_n(&patient.about_to_wait, __ATOMIC_ACQUIRE))
            CHECK_EQUAL(sched_yield(), 0);
        nanosleep(&a_moment, NULL); /* most likely it waits by now; right either way */
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        end_thread(thread);
    }
}

int main(void)
{
    static const struct {
        int type;
        int when_mine; /* NOT_ASKED: the holder would wait for itself */
    } rows[] = {
        {PTHREAD_MUTEX_DEFAULT, NOT_ASKED},     {PTHREAD_MUTEX_NORMAL, NOT_ASKED},
        {PTHREAD_MUTEX_ADAPTIVE_NP, NOT_ASKED}, {PTHREAD_MUTEX_RECURSIVE, 0},
        {PTHREAD_MUTEX_ERRORCHECK, EDEADLK},
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pthread_mutex_t mutex;

        make_mutex(&mutex, rows[i].type);
        check_free(&mutex);
        check_clocks(&mutex);
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        elsewhere(check_held, &mutex);
        if (rows[i].when_mine != NOT_ASKED)
            check_held_by_me(&mutex, rows[i].when_mine);
        check_clocks(&mutex);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        check_the_end_of_time(&mutex);
        CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
    }
    return 0;
}
