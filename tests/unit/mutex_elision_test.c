/*
 * SPDX-License-Identifier: MIT
 *
 * What the front and the elision core promise together, with a scripted back end in place of RTM
 * (mutex_fake_htm.h says how aborts are played). The functions under test are the interposed ones,
 * renamed by macros: each pthread_mutex_* and each condition wait below is ours.
 */
#include "mplace.h"
#include "mutex/mutex_layout.h"
#include "mutex/statistics.h"
#include "mutex/thread_id.h"
#include "mutex_fake_htm.h"
#include "tts_lock/tts.h"
#include "ttstle_lock/elision.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define BUSY     FAKE_EXPLICIT(HTM_CODE_BUSY)
#define PHYSICAL FAKE_EXPLICIT(HTM_CODE_PHYSICAL)

static pthread_mutex_t a, b;
static const struct timespec long_ago = {.tv_sec = 1};

static void fresh(void)
{
    a = b = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    tts_wait = TTS_WAIT_PARK;
    elision_policy = POLICY_PAPER;
    thread_id_forget(); /* Check forks a process for each test */
    (void)thread_id();
    fake_script(NULL, 0);
}

static void fresh_adaptive(void)
{
    fresh();
    elision_policy = POLICY_ADAPTIVE;
}

static pthread_mutex_t made(int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;

    ck_assert_int_eq(pthread_mutexattr_init(&attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_settype(&attributes, type), 0);
    ck_assert_int_eq(pthread_mutex_init(&mutex, &attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_destroy(&attributes), 0);
    return mutex;
}

/* All that libc and other threads can see of it says free. */
static void check_untouched(const pthread_mutex_t *mutex)
{
    ck_assert_int_eq(mutex->__data.__lock, 0);
    ck_assert_int_eq(mutex->__data.__owner, 0);
    ck_assert_uint_eq(mutex->__data.__nusers, 0);
    ck_assert_uint_eq(mutex->__data.__count, 0);
}

static void check_held_physically(const pthread_mutex_t *mutex)
{
    ck_assert_int_ne(mutex->__data.__lock, 0);
    ck_assert_int_eq(mutex->__data.__owner, thread_id());
    ck_assert_uint_eq(mutex->__data.__nusers, 1);
}

/* ---- the elided path ---- */

START_TEST(a_free_lock_is_elided_and_not_written)
{
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.depth, 1);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.depth, 0);
    ck_assert_uint_eq(fake.begins, 1);
    ck_assert_uint_eq(fake.ends, 1);
    check_untouched(&a);
}
END_TEST

START_TEST(an_adaptive_type_mutex_is_elided_too)
{
    pthread_mutex_t mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

    ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
    ck_assert_uint_eq(fake.ends, 1);
    check_untouched(&mutex);
}
END_TEST

START_TEST(types_whose_rules_a_transaction_would_break_are_never_elided)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_RECURSIVE};

    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        pthread_mutex_t mutex = made(types[i]);
        ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
        check_held_physically(&mutex);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0);
        check_held_physically(&mutex);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &long_ago), 0);
        check_held_physically(&mutex);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(mutex.__data.__lock, 0);
    }
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

START_TEST(without_usable_rtm_no_rtm_instruction_runs)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    htm_usable = false; /* from here the fake fails the test at any call */
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_trylock(&a), EBUSY);
    ck_assert_int_eq(pthread_mutex_timedlock(&a, &long_ago), ETIMEDOUT);
    ck_assert_int_eq(pthread_cond_timedwait(&condition, &a, &long_ago), ETIMEDOUT);
    ck_assert_int_eq(pthread_mutex_destroy(&a), EBUSY);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_destroy(&a), 0);
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

/* ---- aborts, policy paper ---- */

START_TEST(under_paper_a_conflict_is_retried_a_thousand_times_and_then_commits)
{
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 1000});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 1001);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

static const unsigned incurable[] = {
    0,
    HTM_CAPACITY,
    HTM_CAPACITY | HTM_RETRY,
    HTM_CAPACITY | HTM_CONFLICT,
    HTM_DEBUG,
    HTM_NESTED,
    HTM_NESTED | HTM_CAPACITY,
    HTM_RETRY,
    PHYSICAL,
    PHYSICAL | HTM_NESTED,
    BUSY | HTM_NESTED,
    FAKE_EXPLICIT(0xff) /* somebody else's XABORT inside the section */,
};
enum { INCURABLE = sizeof incurable / sizeof incurable[0] };

START_TEST(under_paper_what_retrying_cannot_cure_takes_the_lock_and_is_forgotten)
{
    struct fake_step step = {.status = incurable[_i]};

    for (int round = 0; round < 3; round++) {
        fake_script(&step, 1);
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        ck_assert_uint_eq(fake.begins, 1);
        check_held_physically(&a);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        ck_assert_uint_eq(fake.ends, 0);
        check_untouched(&a);
        ck_assert_int_eq(a.__data.__elision, 0);
    }
}
END_TEST

START_TEST(conflicts_before_and_after_a_busy_lock_end_in_the_lock_only_by_an_incurable_cause)
{
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 20}, {.status = BUSY, .times = 20},
                {.status = HTM_CONFLICT, .times = 20}, {.status = BUSY, .times = 20},
                {.status = HTM_CAPACITY});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 81);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

/* ---- the lock word and the transaction ---- */

static void somebody_takes_a(void)
{
    __atomic_store_n(mutex_word(&a), WORD_HELD, __ATOMIC_RELEASE);
}

static void somebody_takes_b(void)
{
    __atomic_store_n(mutex_word(&b), WORD_HELD, __ATOMIC_RELEASE);
}

START_TEST(a_lock_taken_between_the_look_and_the_transaction_aborts_it)
{
    FAKE_SCRIPT({.status = HTM_STARTED, .meanwhile = somebody_takes_a});
    FAKE_ABORTS(HTM_CODE_BUSY, pthread_mutex_lock(&a));
    ck_assert_uint_eq(fake.depth_at_abort, 1);
}
END_TEST

static void *free_a_later(void *argument)
{
    struct timespec pause = {.tv_nsec = 5000000};

    nanosleep(&pause, NULL);
    __atomic_store_n(mutex_word(&a), WORD_FREE, __ATOMIC_RELEASE);
    return argument;
}

static pthread_t liberator;

/* The physical holder that made us abort; it lets go 5 ms later. */
static void somebody_holds_a_for_a_while(void)
{
    somebody_takes_a();
    ck_assert_int_eq(pthread_create(&liberator, NULL, free_a_later, NULL), 0);
}

/* Under paper, whatever TTS_WAIT is: the wait before an attempt has no bound. */
START_TEST(no_attempt_begins_while_the_lock_is_held)
{
    const struct fake_step steps[] = {
        {.status = BUSY, .meanwhile = somebody_holds_a_for_a_while},
        {.status = HTM_CONFLICT | HTM_RETRY, .times = 3},
    };

    tts_wait = (enum tts_wait)_i;
    fake_script(steps, 2);
    fake.watched = mutex_word(&a);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 5);
    ck_assert_uint_eq(fake.held_at_begin, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_join(liberator, NULL), 0);
}
END_TEST

static void *release_when_parked_upon(void *argument)
{
    while (__atomic_load_n(mutex_word(&a), __ATOMIC_ACQUIRE) != WORD_HELD_WITH_SLEEPERS)
        sched_yield();
    tts_release(&a);
    return argument;
}

START_TEST(a_thread_that_had_to_sleep_takes_the_lock_physically_with_the_mark)
{
    pthread_t holder;

    elision_policy = POLICY_ADAPTIVE; /* paper never sleeps before an attempt */
    somebody_takes_a();
    ck_assert_int_eq(pthread_create(&holder, NULL, release_when_parked_upon, NULL), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 0);
    check_held_physically(&a);
    ck_assert_int_eq(a.__data.__lock, WORD_HELD_WITH_SLEEPERS);
    ck_assert_int_eq(pthread_join(holder, NULL), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    check_untouched(&a);
}
END_TEST

/* ---- unlock ---- */

START_TEST(unlocking_a_mutex_that_is_not_locked_ends_no_transaction)
{
    pthread_mutex_t error_check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_t normal = made(PTHREAD_MUTEX_NORMAL);

    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&normal), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&error_check), EPERM);
    ck_assert_int_eq(pthread_mutex_unlock(&recursive), EPERM);
    check_untouched(&a);
    check_untouched(&normal);

    /* Nor does it end another section's. */
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&normal), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&error_check), EPERM);
    ck_assert_int_eq(pthread_mutex_unlock(&recursive), EPERM);
    ck_assert_uint_eq(fake.ends, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.ends, 1);
}
END_TEST

START_TEST(a_lock_held_physically_is_released_physically_inside_a_transaction)
{
    FAKE_SCRIPT({.status = HTM_CAPACITY});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0); /* for real */
    ck_assert_int_eq(pthread_mutex_lock(&b), 0); /* elided */
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.ends, 0);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.ends, 1);
    ck_assert_uint_eq(fake.depth, 0);
}
END_TEST

/* ---- nesting ---- */

START_TEST(nested_locks_are_elided_flat_and_unlock_in_any_order)
{
    pthread_mutex_t *const orders[][2] = {{&a, &b}, {&b, &a}};

    for (int i = 0; i < 2; i++) {
        fake_script(NULL, 0);
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        ck_assert_int_eq(pthread_mutex_lock(&b), 0);
        ck_assert_uint_eq(fake.depth, 2);
        ck_assert_int_eq(pthread_mutex_unlock(orders[i][0]), 0);
        ck_assert_uint_eq(fake.depth, 1);
        ck_assert_int_eq(pthread_mutex_unlock(orders[i][1]), 0);
        ck_assert_uint_eq(fake.depth, 0);
        check_untouched(&a);
        check_untouched(&b);
    }
}
END_TEST

START_TEST(a_busy_inner_lock_aborts_everything_without_a_wait)
{
    somebody_takes_b();
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_BUSY, pthread_mutex_lock(&b));
    ck_assert_uint_eq(fake.depth_at_abort, 2);
}
END_TEST

START_TEST(a_busy_inner_lock_of_a_type_never_elided_aborts_everything_too)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_RECURSIVE};

    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        pthread_mutex_t inner = made(types[i]);
        inner.__data.__lock = WORD_HELD;
        fake_script(NULL, 0);
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_lock(&inner));
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_timedlock(&inner, &long_ago));
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        ck_assert_int_eq(pthread_mutex_trylock(&inner), EBUSY); /* an answer, and no wait */
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        ck_assert_int_eq(inner.__data.__lock, WORD_HELD);
    }
}
END_TEST

START_TEST(a_free_inner_lock_of_a_type_never_elided_is_taken_inside_the_transaction)
{
    pthread_mutex_t inner = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&inner), 0);
    check_held_physically(&inner);
    ck_assert_int_eq(pthread_mutex_lock(&inner), EDEADLK);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0); /* commits, and so publishes inner as held */
    ck_assert_uint_eq(fake.depth, 0);
    check_held_physically(&inner);
    ck_assert_int_eq(pthread_mutex_unlock(&inner), 0);
    ck_assert_uint_eq(fake.ends, 1);
}
END_TEST

/* ---- trylock, timed locks, destroy ---- */

START_TEST(trylock_elides_a_free_lock_and_answers_busy_without_a_transaction)
{
    ck_assert_int_eq(pthread_mutex_trylock(&a), 0);
    ck_assert_uint_eq(fake.depth, 1);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    somebody_takes_a();
    ck_assert_int_eq(pthread_mutex_trylock(&a), EBUSY);
    ck_assert_uint_eq(fake.begins, 1);
}
END_TEST

START_TEST(trylock_does_not_wait_for_a_lock_that_made_it_abort)
{
    FAKE_SCRIPT({.status = BUSY, .meanwhile = somebody_takes_a});
    ck_assert_int_eq(pthread_mutex_trylock(&a), EBUSY);
    ck_assert_uint_eq(fake.begins, 1);
}
END_TEST

START_TEST(in_a_transaction_nobody_decides_by_who_holds_a_lock_that_may_be_elided)
{
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&a));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&b));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_timedlock(&a, &long_ago));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_clocklock(&a, CLOCK_MONOTONIC, &long_ago));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_destroy(&a));
}
END_TEST

START_TEST(run_again_physically_a_trylock_of_the_own_lock_is_busy)
{
    FAKE_SCRIPT({.status = PHYSICAL});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&a), EBUSY);
    ck_assert_int_eq(pthread_mutex_timedlock(&a, &long_ago), ETIMEDOUT);
    ck_assert_int_eq(pthread_mutex_destroy(&a), EBUSY);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_destroy(&a), 0);
}
END_TEST

START_TEST(a_timed_lock_elides_a_free_lock_and_waits_physically_for_a_held_one)
{
    ck_assert_int_eq(pthread_mutex_timedlock(&a, &long_ago), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_clocklock(&a, CLOCK_MONOTONIC, &long_ago), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    somebody_takes_a();
    ck_assert_int_eq(pthread_mutex_timedlock(&a, &long_ago), ETIMEDOUT);
    ck_assert_uint_eq(fake.begins, 2);
}
END_TEST

/* ---- condition waits ---- */

START_TEST(a_condition_wait_never_happens_inside_a_transaction)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_cond_wait(&condition, &a));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_cond_timedwait(&condition, &a, &long_ago));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL,
                pthread_cond_clockwait(&condition, &a, CLOCK_MONOTONIC, &long_ago));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_cond_wait(&condition, &b));
    ck_assert_uint_eq(fake.depth_at_abort, 2);
}
END_TEST

START_TEST(run_again_physically_the_wait_is_libcs_and_returns_with_the_lock)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    FAKE_SCRIPT({.status = PHYSICAL, .times = 2});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_cond_timedwait(&condition, &a, &long_ago), ETIMEDOUT);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
#ifndef __SANITIZE_THREAD__ /* its own clockwait refuses a mutex that it did not see locked */
    ck_assert_int_eq(pthread_cond_clockwait(&condition, &a, CLOCK_MONOTONIC, &long_ago), ETIMEDOUT);
    check_held_physically(&a);
#endif
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    check_untouched(&a);
}
END_TEST

/* ---- policy adaptive ---- */

START_TEST(adaptive_gives_up_conflicts_takes_the_lock_and_then_leaves_elision_out_once)
{
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 1000});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_ge(fake.begins, 3);
    ck_assert_uint_le(fake.begins, 20);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);

    fake_script(NULL, 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_eq(fake.begins, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 1);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(adaptive_elides_a_hopeless_lock_ever_more_rarely)
{
    unsigned tries = 0, last = 0;

    FAKE_SCRIPT({.status = HTM_CAPACITY, .times = 1000000});
    for (unsigned i = 0; i < 10000; i++) {
        unsigned before = fake.begins;
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        check_held_physically(&a);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        if (fake.begins == before)
            continue;
        ck_assert_uint_eq(fake.begins, before + 1);
        if (tries > 0)
            ck_assert_uint_eq(i - last, 1u << (tries < 12 ? tries : 12));
        last = i;
        tries++;
    }
    ck_assert_uint_ge(tries, 12);
}
END_TEST

START_TEST(adaptive_forgives_with_each_commit_and_then_writes_nothing)
{
    FAKE_SCRIPT({.status = 0});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(memory_level((uint16_t)a.__data.__elision), 1);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0); /* the one to be skipped */
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        ck_assert_uint_eq(fake.depth, 1);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        ck_assert_int_eq(a.__data.__elision, 0);
    }
}
END_TEST

START_TEST(adaptive_takes_a_lock_that_is_always_busy_and_does_not_hold_it_against_it)
{
    FAKE_SCRIPT({.status = BUSY, .times = 1000});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_le(fake.begins, 20);
    ck_assert_int_eq(a.__data.__elision, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(a_nested_lock_is_elided_whatever_its_memory_says)
{
    b.__data.__elision = (short)memory_after_failure(memory_after_failure(0));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_uint_eq(fake.depth, 2);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq((uint16_t)b.__data.__elision, memory_after_failure(memory_after_failure(0)));
}
END_TEST

/* ---- statistics ---- */

START_TEST(statistics_count_each_abort_under_one_cause)
{
    struct mplace_lock_statistics counts;

    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), ENODATA);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    mplace_lock_statistics_reset();
    ck_assert_int_eq(mplace_lock_statistics(NULL, sizeof counts), EINVAL);
    ck_assert_int_eq(mplace_lock_statistics(&counts, 0), EINVAL);

    for (int i = 0; i < INCURABLE; i++) {
        struct fake_step step = {.status = incurable[i]};
        fake_script(&step, 1);
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    }
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 7}, {.status = BUSY, .times = 5});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);

    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.acquisitions, INCURABLE + 1);
    ck_assert_uint_eq(counts.slow_path, INCURABLE);
    ck_assert_uint_eq(counts.tx_committed, 1);
    ck_assert_uint_eq(counts.abort_conflict, 7);
    ck_assert_uint_eq(counts.abort_capacity, 4);
    ck_assert_uint_eq(counts.abort_explicit, 4 + 5);
    ck_assert_uint_eq(counts.abort_nested, 1);
    ck_assert_uint_eq(counts.abort_debug, 1);
    ck_assert_uint_eq(counts.abort_other, 2);
    ck_assert_uint_eq(counts.tx_started, INCURABLE + 12 + 1);
}
END_TEST

START_TEST(statistics_count_what_is_nested_when_the_outermost_commits)
{
    struct mplace_lock_statistics counts;
    pthread_mutex_t inner = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    mplace_lock_statistics_reset();
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_int_eq(pthread_mutex_lock(&inner), 0);
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.acquisitions, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&inner), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.acquisitions, 3);
    ck_assert_uint_eq(counts.slow_path, 1);
    ck_assert_uint_eq(counts.tx_started, 1);
    ck_assert_uint_eq(counts.tx_committed, 1);

    mplace_lock_statistics_reset();
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.acquisitions, 1);
    ck_assert_uint_eq(counts.tx_started, 1);
}
END_TEST

START_TEST(statistics_fill_no_more_than_the_caller_has_room_for)
{
    struct mplace_lock_statistics counts;

    mplace_lock_statistics_reset();
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    counts.slow_path = 0xfeed;
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts.acquisitions), 0);
    ck_assert_uint_eq(counts.acquisitions, 1);
    ck_assert_uint_eq(counts.slow_path, 0xfeed);
}
END_TEST

START_TEST(the_setting_chooses_the_policy_and_adaptive_is_the_default)
{
    setenv("TTSTLE_POLICY", "paper", 1);
    elision_read_settings();
    ck_assert_int_eq(elision_policy, POLICY_PAPER);
    ck_assert_str_eq(elision_policy_name(), "paper");
    setenv("TTSTLE_POLICY", "adaptive", 1);
    elision_read_settings();
    ck_assert_int_eq(elision_policy, POLICY_ADAPTIVE);
    ck_assert_str_eq(elision_policy_name(), "adaptive");
    setenv("TTSTLE_POLICY", "paper", 1);
    elision_read_settings();
    unsetenv("TTSTLE_POLICY");
    elision_read_settings();
    ck_assert_int_eq(elision_policy, POLICY_ADAPTIVE);
}
END_TEST

static TCase *elision_case(void)
{
    TCase *tests = tcase_create("paper");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, a_free_lock_is_elided_and_not_written);
    tcase_add_test(tests, an_adaptive_type_mutex_is_elided_too);
    tcase_add_test(tests, types_whose_rules_a_transaction_would_break_are_never_elided);
    tcase_add_test(tests, without_usable_rtm_no_rtm_instruction_runs);
    tcase_add_test(tests, under_paper_a_conflict_is_retried_a_thousand_times_and_then_commits);
    tcase_add_loop_test(
        tests, under_paper_what_retrying_cannot_cure_takes_the_lock_and_is_forgotten, 0, INCURABLE);
    tcase_add_test(
        tests, conflicts_before_and_after_a_busy_lock_end_in_the_lock_only_by_an_incurable_cause);
    tcase_add_test(tests, a_lock_taken_between_the_look_and_the_transaction_aborts_it);
    tcase_add_loop_test(tests, no_attempt_begins_while_the_lock_is_held, TTS_WAIT_SPIN,
                        TTS_WAIT_PARK + 1);
    tcase_add_test(tests, a_thread_that_had_to_sleep_takes_the_lock_physically_with_the_mark);
    tcase_add_test(tests, unlocking_a_mutex_that_is_not_locked_ends_no_transaction);
    tcase_add_test(tests, a_lock_held_physically_is_released_physically_inside_a_transaction);
    tcase_add_test(tests, nested_locks_are_elided_flat_and_unlock_in_any_order);
    tcase_add_test(tests, a_busy_inner_lock_aborts_everything_without_a_wait);
    tcase_add_test(tests, a_busy_inner_lock_of_a_type_never_elided_aborts_everything_too);
    tcase_add_test(tests, a_free_inner_lock_of_a_type_never_elided_is_taken_inside_the_transaction);
    tcase_add_test(tests, trylock_elides_a_free_lock_and_answers_busy_without_a_transaction);
    tcase_add_test(tests, trylock_does_not_wait_for_a_lock_that_made_it_abort);
    tcase_add_test(tests, in_a_transaction_nobody_decides_by_who_holds_a_lock_that_may_be_elided);
    tcase_add_test(tests, run_again_physically_a_trylock_of_the_own_lock_is_busy);
    tcase_add_test(tests, a_timed_lock_elides_a_free_lock_and_waits_physically_for_a_held_one);
    tcase_add_test(tests, a_condition_wait_never_happens_inside_a_transaction);
    tcase_add_test(tests, run_again_physically_the_wait_is_libcs_and_returns_with_the_lock);
    tcase_add_test(tests, statistics_count_each_abort_under_one_cause);
    tcase_add_test(tests, statistics_count_what_is_nested_when_the_outermost_commits);
    tcase_add_test(tests, statistics_fill_no_more_than_the_caller_has_room_for);
    tcase_add_test(tests, the_setting_chooses_the_policy_and_adaptive_is_the_default);
    return tests;
}

static TCase *adaptive_case(void)
{
    TCase *tests = tcase_create("adaptive");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh_adaptive, NULL);
    tcase_add_test(tests,
                   adaptive_gives_up_conflicts_takes_the_lock_and_then_leaves_elision_out_once);
    tcase_add_test(tests, adaptive_elides_a_hopeless_lock_ever_more_rarely);
    tcase_add_test(tests, adaptive_forgives_with_each_commit_and_then_writes_nothing);
    tcase_add_test(tests,
                   adaptive_takes_a_lock_that_is_always_busy_and_does_not_hold_it_against_it);
    tcase_add_test(tests, a_nested_lock_is_elided_whatever_its_memory_says);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("mutex elision");

    suite_add_tcase(suite, elision_case());
    suite_add_tcase(suite, adaptive_case());

    return run_suite(suite);
}
