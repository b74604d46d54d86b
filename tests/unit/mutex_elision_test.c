/*
 * SPDX-License-Identifier: MIT
 *
 * When a lock is elided, what each abort leads to, and how the lock word and a transaction meet.
 */
#include "mutex_elision_fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "run_suite.h"

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

START_TEST(under_paper_a_conflict_is_retried_a_thousand_times_and_then_commits)
{
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 1000});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 1001);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

static int try_it(void)
{
    return pthread_mutex_trylock(&a);
}

static int lock_until(void)
{
    return pthread_mutex_timedlock(&a, &long_ago);
}

static int lock_until_by_clock(void)
{
    return pthread_mutex_clocklock(&a, CLOCK_MONOTONIC, &long_ago);
}

/* Their callers gave a time, or none: what another thread does must not make it longer. */
static int (*const hurried[])(void) = {try_it, lock_until, lock_until_by_clock};

START_TEST(trylock_and_timed_locks_give_conflicts_up_after_a_few_under_each_policy)
{
    for (int policy = POLICY_PAPER; policy < RETRY_POLICIES; policy++) {
        a = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        elision_policy = (enum retry_policy)policy;
        FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 1000000});
        ck_assert_int_eq(hurried[_i](), 0);
        ck_assert_uint_le(fake.begins, 8);
        check_held_physically(&a);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        ck_assert_uint_eq(memory_level((uint16_t)a.__data.__elision), policy == POLICY_ADAPTIVE);
    }
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

/* Each status bit alone and with all others, with each code; the transaction after it commits. */
START_TEST(every_abort_leads_where_the_policy_says)
{
    static const unsigned codes[] = {0, HTM_CODE_BUSY, HTM_CODE_PHYSICAL, 0x01, 0xff};

    elision_policy = (enum retry_policy)_i;
    for (unsigned bits = 0; bits < 64; bits++) {
        for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
            struct fake_step step = {.status = bits | codes[i] << HTM_CODE_SHIFT};
            enum after_abort answer = retry_policy_after_abort(elision_policy, step.status, 1);
            bool retries = answer == RETRY_ONCE_FREE || answer == RETRY_AFTER_BACK_OFF;

            a = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
            fake_script(&step, 1);
            ck_assert_int_eq(pthread_mutex_lock(&a), 0);
            ck_assert_uint_eq(fake.begins, retries ? 2 : 1);
            ck_assert_uint_eq(fake.depth, retries ? 1 : 0);
            ck_assert_int_eq(fake.pauses != 0, answer == RETRY_AFTER_BACK_OFF);
            ck_assert_int_eq(a.__data.__elision != 0,
                             answer == TAKE_AND_REMEMBER && elision_policy == POLICY_ADAPTIVE);
            if (retries)
                check_untouched(&a);
            else
                check_held_physically(&a);
            ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
            check_untouched(&a);
            ck_assert_uint_eq(fake.ends, retries ? 1 : 0);
        }
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

START_TEST(the_setting_chooses_the_policy_and_adaptive_is_the_default)
{
    static const char *const names[RETRY_POLICIES] = {"paper", "adaptive", "backoff", "hourglass",
                                                      "serialise"};

    for (int policy = 0; policy < RETRY_POLICIES; policy++) {
        setenv("TTSTLE_POLICY", names[policy], 1);
        elision_read_settings();
        ck_assert_int_eq(elision_policy, policy);
        ck_assert_str_eq(elision_policy_name(), names[policy]);
    }
    setenv("TTSTLE_POLICY", "paper", 1);
    elision_read_settings();
    unsetenv("TTSTLE_POLICY");
    elision_read_settings();
    ck_assert_int_eq(elision_policy, POLICY_ADAPTIVE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex elision");
    TCase *tests = tcase_create("mutex elision");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, a_free_lock_is_elided_and_not_written);
    tcase_add_test(tests, an_adaptive_type_mutex_is_elided_too);
    tcase_add_test(tests, types_whose_rules_a_transaction_would_break_are_never_elided);
    tcase_add_test(tests, without_usable_rtm_no_rtm_instruction_runs);
    tcase_add_test(tests, under_paper_a_conflict_is_retried_a_thousand_times_and_then_commits);
    tcase_add_loop_test(tests,
                        trylock_and_timed_locks_give_conflicts_up_after_a_few_under_each_policy, 0,
                        sizeof hurried / sizeof hurried[0]);
    tcase_add_loop_test(
        tests, under_paper_what_retrying_cannot_cure_takes_the_lock_and_is_forgotten, 0, INCURABLE);
    tcase_add_loop_test(tests, every_abort_leads_where_the_policy_says, POLICY_PAPER,
                        RETRY_POLICIES);
    tcase_add_test(
        tests, conflicts_before_and_after_a_busy_lock_end_in_the_lock_only_by_an_incurable_cause);
    tcase_add_test(tests, a_lock_taken_between_the_look_and_the_transaction_aborts_it);
    tcase_add_loop_test(tests, no_attempt_begins_while_the_lock_is_held, TTS_WAIT_SPIN,
                        TTS_WAIT_PARK + 1);
    tcase_add_test(tests, a_thread_that_had_to_sleep_takes_the_lock_physically_with_the_mark);
    tcase_add_test(tests, the_setting_chooses_the_policy_and_adaptive_is_the_default);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
