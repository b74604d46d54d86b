/*
 * SPDX-License-Identifier: MIT
 *
 * The adaptive policy at work in a mutex: how its memory grows, is used up and cleared.
 */
#include "mutex_elision_fixture.h"

#include "../preload/single_step.h"
#include "run_suite.h"

static unsigned memory_of(const pthread_mutex_t *mutex)
{
    return (uint16_t)mutex->__data.__elision;
}

static void give_memory(pthread_mutex_t *mutex, unsigned failures)
{
    uint16_t memory = 0;

    while (failures-- > 0)
        memory = memory_after_failure(memory);
    mutex->__data.__elision = (short)memory;
}

START_TEST(adaptive_gives_conflicts_up_and_takes_the_lock)
{
    unsigned pauses = 0;

    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 1000});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_eq(fake.begins, 8);
    for (unsigned failures = 1; failures < 8; failures++)
        pauses += retry_policy_back_off(failures, (unsigned)thread_id());
    ck_assert_uint_eq(fake.pauses, pauses); /* each between two transactions: fake_pause looks */
    ck_assert_uint_eq(memory_level((uint16_t)memory_of(&a)), 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(one_failure_is_held_against_nobody_and_the_second_in_a_row_leaves_one_try_out)
{
    for (int failures = 1; failures <= 2; failures++) {
        FAKE_SCRIPT({.status = HTM_CAPACITY});
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        check_held_physically(&a);
        ck_assert_uint_eq(fake.begins, 1);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    }
    fake_script(NULL, 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_eq(fake.begins, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.depth, 1);
    check_untouched(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(adaptive_elides_a_hopeless_lock_ever_more_rarely)
{
    unsigned tries = 0, last = 0;

    FAKE_SCRIPT({.status = HTM_CAPACITY, .times = 1000000});
    for (unsigned i = 0; i < 20000; i++) {
        unsigned before = fake.begins;
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        check_held_physically(&a);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        if (fake.begins == before)
            continue;
        ck_assert_uint_eq(fake.begins, before + 1);
        if (tries > 0)
            ck_assert_uint_eq(i - last, 1u << (tries <= 13 ? tries - 1 : 12));
        last = i;
        tries++;
    }
    ck_assert_uint_ge(tries, 16);
}
END_TEST

START_TEST(one_commit_clears_the_memory_of_many_failures)
{
    give_memory(&a, 100);
    ck_assert_uint_eq(memory_level((uint16_t)memory_of(&a)), MEMORY_LEVEL_MOST);
    while (memory_skips_left((uint16_t)memory_of(&a)) != 0) {
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        check_held_physically(&a);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    }
    ck_assert_uint_eq(fake.begins, 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(memory_of(&a), MEMORY_CLEAR);
}
END_TEST

START_TEST(trylock_and_timed_lock_heed_the_memory_and_fill_it)
{
    give_memory(&a, 3); /* three to leave out */
    ck_assert_int_eq(pthread_mutex_trylock(&a), 0);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_timedlock(&a, &long_ago), 0);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_clocklock(&a, CLOCK_MONOTONIC, &long_ago), 0);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.begins, 0);
    FAKE_SCRIPT({.status = HTM_CAPACITY}, {.status = HTM_STARTED});
    ck_assert_int_eq(pthread_mutex_trylock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_eq(memory_level((uint16_t)memory_of(&a)), 4);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

static void somebody_commits(void)
{
    page.mutexes[0].__data.__elision = MEMORY_CLEAR;
    page_protect();
}

START_TEST(of_several_threads_that_try_again_only_the_first_writes)
{
    give_memory(&page.mutexes[0], 1);
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .meanwhile = somebody_commits});
    ck_assert_int_eq(pthread_mutex_lock(&page.mutexes[0]), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&page.mutexes[0]), 0);
}
END_TEST

START_TEST(polling_a_held_lock_by_trylock_writes_nothing)
{
    give_memory(&page.mutexes[0], 5);
    page.mutexes[0].__data.__lock = WORD_HELD;
    page_protect();
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(pthread_mutex_trylock(&page.mutexes[0]), EBUSY);
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

START_TEST(adaptive_takes_a_lock_that_is_always_busy_and_does_not_hold_it_against_it)
{
    FAKE_SCRIPT({.status = BUSY, .times = 1000});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_eq(fake.begins, 8);
    ck_assert_uint_eq(memory_of(&a), MEMORY_CLEAR);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(a_nested_lock_is_elided_whatever_its_memory_says)
{
    unsigned memory;

    give_memory(&b, 2);
    memory = memory_of(&b);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_uint_eq(fake.depth, 2);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(memory_of(&b), memory);
}
END_TEST

static void somebody_commits_after_many_failures(void)
{
    a.__data.__elision = MEMORY_CLEAR;
}

START_TEST(a_failure_does_not_write_over_the_commit_that_another_thread_made_meanwhile)
{
    give_memory(&a, 100);
    while (memory_skips_left((uint16_t)memory_of(&a)) != 0)
        a.__data.__elision--;
    FAKE_SCRIPT({.status = HTM_CAPACITY, .meanwhile = somebody_commits_after_many_failures});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    check_held_physically(&a);
    ck_assert_uint_eq(memory_of(&a), MEMORY_CLEAR);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* its runtime keeps signals back */
static long steps_done, commit_at;

/* The other thread's commit is one store, whenever it comes. */
static bool commit_once(void)
{
    if (steps_done++ < commit_at)
        return true;
    somebody_commits_after_many_failures();
    return false;
}

static void step_from_here(void)
{
    fake.when_asked = NULL;
    single_step_on();
}

/* What comes before the question for a transaction does not look at the memory. */
START_TEST(an_acquisition_left_out_does_not_write_over_a_commit_whenever_that_comes)
{
    single_step_with(commit_once);
    commit_at = -1;
    do {
        commit_at++;
        steps_done = 0;
        fake_script(NULL, 0);
        fake.when_asked = step_from_here;
        give_memory(&a, 100);
        int error = pthread_mutex_lock(&a);
        single_step_off();
        ck_assert_int_eq(error, 0);
        if (steps_done > commit_at)
            ck_assert_uint_eq(memory_of(&a), MEMORY_CLEAR);
        else
            ck_assert_uint_eq(memory_skips_left((uint16_t)memory_of(&a)), MEMORY_SKIP_MASK - 1);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    } while (steps_done > commit_at);
    ck_assert_int_gt(commit_at, 20);
}
END_TEST
#endif

START_TEST(paper_neither_heeds_nor_fills_the_memory)
{
    elision_policy = POLICY_PAPER;
    give_memory(&a, 5);
    for (int i = 0; i < 3; i++) {
        static const unsigned statuses[] = {HTM_STARTED, HTM_CAPACITY, 0};
        struct fake_step step = {.status = statuses[i]};
        unsigned memory = memory_of(&a);
        fake_script(&step, 1);
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        ck_assert_uint_eq(fake.begins, 1);
        ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        ck_assert_uint_eq(memory_of(&a), memory);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex adaptive");
    TCase *tests = tcase_create("mutex adaptive");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh_adaptive, NULL);
    tcase_add_test(tests, adaptive_gives_conflicts_up_and_takes_the_lock);
    tcase_add_test(tests,
                   one_failure_is_held_against_nobody_and_the_second_in_a_row_leaves_one_try_out);
    tcase_add_test(tests, adaptive_elides_a_hopeless_lock_ever_more_rarely);
    tcase_add_test(tests, one_commit_clears_the_memory_of_many_failures);
    tcase_add_test(tests, trylock_and_timed_lock_heed_the_memory_and_fill_it);
    tcase_add_test(tests, of_several_threads_that_try_again_only_the_first_writes);
    tcase_add_test(tests, polling_a_held_lock_by_trylock_writes_nothing);
    tcase_add_test(tests,
                   adaptive_takes_a_lock_that_is_always_busy_and_does_not_hold_it_against_it);
    tcase_add_test(tests, a_nested_lock_is_elided_whatever_its_memory_says);
    tcase_add_test(tests,
                   a_failure_does_not_write_over_the_commit_that_another_thread_made_meanwhile);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(tests, an_acquisition_left_out_does_not_write_over_a_commit_whenever_that_comes);
#endif
    tcase_add_test(tests, paper_neither_heeds_nor_fills_the_memory);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
