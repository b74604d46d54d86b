/*
 * SPDX-License-Identifier: MIT
 *
 * Threads that libc does not count: a task made by clone in the same memory, a process that shares
 * the mutex's page. While libc knows of one thread its plain lock need not be atomic, but trylock,
 * timed locks and adaptive mutexes are, and programs have come to rely on that. So the stranger
 * takes the mutex at each instruction of such a call in turn: exactly one of the two may have it.
 */
#include "lock_check.h"
#include "single_step.h"

static pthread_mutex_t mutex;
static const struct timespec long_ago = {.tv_sec = 1};

/* The stranger: tries once, at the given step; gives it back some steps later if it may. */
static volatile long step, take_at, give_back_at;
static volatile int stranger_has_it, stranger_had_it;

static int *word(void)
{
    return &mutex.__data.__lock;
}

static void give_back(void)
{
    stranger_has_it = 0;
    __atomic_store_n(word(), 0, __ATOMIC_RELEASE);
}

static bool be_the_stranger(void)
{
    int expected = 0;

    if (step++ < take_at)
        return true;
    if (step == take_at + 1) {
        stranger_had_it = __atomic_compare_exchange_n(word(), &expected, 1, false, __ATOMIC_ACQUIRE,
                                                      __ATOMIC_RELAXED);
        stranger_has_it = stranger_had_it;
        return stranger_has_it && give_back_at >= 0;
    }
    /* A mark for sleepers: nobody will wake the caller, so it must not go to sleep. */
    if (step < give_back_at && __atomic_load_n(word(), __ATOMIC_RELAXED) != 2)
        return true;
    give_back();
    return false;
}

/* What the call returns while the stranger takes the mutex at that step of it. */
static int interfered(int (*call)(void), long at, long steps_held)
{
    step = 0;
    take_at = at;
    give_back_at = steps_held < 0 ? -1 : at + steps_held;
    stranger_has_it = stranger_had_it = 0;
    single_step_on();
    int error = call();
    single_step_off();
    return error;
}

static int try_it(void)
{
    return pthread_mutex_trylock(&mutex);
}

static int lock_until(void)
{
    return pthread_mutex_timedlock(&mutex, &long_ago);
}

static int lock_it(void)
{
    return pthread_mutex_lock(&mutex);
}

static void an_attempt_succeeds_only_if_no_stranger_did(int type, int (*call)(void), int refused)
{
    long at = 0;
    int refusals = 0;

    make_mutex(&mutex, type);
    do {
        int error = interfered(call, at, -1);
        CHECK_EQUAL(error, stranger_had_it ? refused : 0);
        refusals += error != 0;
        if (error == 0)
            CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        else
            give_back();
        at++;
    } while (step > take_at);
    CHECK(refusals > 1);
}

static void an_adaptive_lock_waits_for_a_stranger(void)
{
    enum { HELD = 30 };
    long at = 0;
    int waits = 0;

    make_mutex(&mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
    do {
        CHECK_EQUAL(interfered(lock_it, at, HELD), 0);
        CHECK(!stranger_has_it);
        waits += stranger_had_it;
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        at++;
    } while (step > take_at);
    CHECK(waits > 1);
}

int main(void)
{
    static const int types[] = {PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_NORMAL,
                                PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK};

    single_step_with(be_the_stranger);
    /* Once, so that the dynamic linker has bound them. */
    CHECK_EQUAL(try_it() | pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(lock_until() | pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(lock_it() | pthread_mutex_unlock(&mutex), 0);
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        an_attempt_succeeds_only_if_no_stranger_did(types[i], try_it, EBUSY);
        an_attempt_succeeds_only_if_no_stranger_did(types[i], lock_until, ETIMEDOUT);
    }
    an_adaptive_lock_waits_for_a_stranger();
    return 0;
}
