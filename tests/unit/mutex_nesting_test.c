/*
 * SPDX-License-Identifier: MIT
 *
 * Inside a transaction: unlocks, nested locks of all types, and the calls that only a physical
 * holder may make.
 */
#include "mutex_elision_fixture.h"

#include "run_suite.h"

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
        if (types[i] == PTHREAD_MUTEX_NORMAL) { /* as C11's mtx_t it could be elided right now */
            FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&inner));
        } else {
            ck_assert_int_eq(pthread_mutex_trylock(&inner), EBUSY); /* an answer, and no wait */
            ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
        }
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

START_TEST(in_a_transaction_trylock_elides_a_free_lock)
{
    elision_policy = POLICY_ADAPTIVE;
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&b), 0);
    ck_assert_uint_eq(fake.depth, 2);
    check_untouched(&b);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.depth, 0);
}
END_TEST

START_TEST(in_a_transaction_trylock_of_a_lock_held_by_another_is_busy)
{
    elision_policy = POLICY_ADAPTIVE;
    somebody_takes_b();
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&b), EBUSY);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.aborts, 0);
}
END_TEST

START_TEST(a_transaction_ends_at_a_trylock_of_a_lock_that_it_elides)
{
    elision_policy = POLICY_ADAPTIVE;
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&a));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&a));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&b), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&b));
}
END_TEST

START_TEST(under_a_policy_without_memory_a_transaction_ends_at_each_trylock)
{
    if (_i == POLICY_ADAPTIVE)
        return;
    elision_policy = (enum retry_policy)_i;
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(&b));
}
END_TEST

START_TEST(a_transaction_ends_at_a_timed_lock_and_at_destroy)
{
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_timedlock(&a, &long_ago));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_timedlock(&b, &long_ago));
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

/* ---- what an elided section leaves alone ---- */

START_TEST(elided_sections_write_to_no_mutex_under_any_policy)
{
    pthread_mutex_t *outer = &page.mutexes[0], *inner = &page.mutexes[1];

    page_protect();
    for (int policy = POLICY_PAPER; policy < RETRY_POLICIES; policy++) {
        elision_policy = (enum retry_policy)policy;
        ck_assert_int_eq(pthread_mutex_lock(outer), 0);
        ck_assert_int_eq(pthread_mutex_lock(inner), 0);
        ck_assert_int_eq(pthread_mutex_unlock(outer), 0);
        ck_assert_int_eq(pthread_mutex_unlock(inner), 0);
        ck_assert_int_eq(pthread_mutex_trylock(outer), 0);
        ck_assert_int_eq(pthread_mutex_unlock(outer), 0);
        ck_assert_int_eq(pthread_mutex_timedlock(outer, &long_ago), 0);
        ck_assert_int_eq(pthread_mutex_unlock(outer), 0);
        ck_assert_int_eq(pthread_mutex_clocklock(outer, CLOCK_MONOTONIC, &long_ago), 0);
        ck_assert_int_eq(pthread_mutex_unlock(outer), 0);
    }
    ck_assert_uint_eq(fake.ends, 5 * RETRY_POLICIES);
    ck_assert_uint_eq(fake.depth, 0);
}
END_TEST

/* ---- more than two ---- */

static pthread_mutex_t chain[12];

static void fresh_chain(void)
{
    for (int i = 0; i < 12; i++)
        chain[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

START_TEST(hand_over_hand_is_one_transaction_from_the_first_lock_to_the_last_unlock)
{
    fresh_chain();
    ck_assert_int_eq(pthread_mutex_lock(&chain[0]), 0);
    for (int i = 1; i < 12; i++) {
        ck_assert_int_eq(pthread_mutex_lock(&chain[i]), 0);
        ck_assert_uint_eq(fake.depth, 2);
        ck_assert_int_eq(pthread_mutex_unlock(&chain[i - 1]), 0);
        ck_assert_uint_eq(fake.depth, 1);
    }
    ck_assert_int_eq(pthread_mutex_unlock(&chain[11]), 0);
    ck_assert_uint_eq(fake.depth, 0);
    for (int i = 0; i < 12; i++)
        check_untouched(&chain[i]);
}
END_TEST

/* The eighth begin aborts in hardware; where it lands the first lock is taken for real. */
START_TEST(nesting_deeper_than_the_processor_allows_takes_the_outermost_lock)
{
    fresh_chain();
    for (int i = 0; i < FAKE_DEPTH_MOST; i++)
        ck_assert_int_eq(pthread_mutex_lock(&chain[i]), 0);
    FAKE_ABORTS(0, pthread_mutex_lock(&chain[FAKE_DEPTH_MOST]));
    ck_assert_uint_eq(fake.depth_at_abort, FAKE_DEPTH_MOST);

    FAKE_SCRIPT({.status = HTM_NESTED});
    for (int i = 0; i <= FAKE_DEPTH_MOST; i++)
        ck_assert_int_eq(pthread_mutex_lock(&chain[i]), 0);
    check_held_physically(&chain[0]);
    ck_assert_uint_eq(fake.depth, FAKE_DEPTH_MOST);
    for (int i = 0; i <= FAKE_DEPTH_MOST; i++)
        ck_assert_int_eq(pthread_mutex_unlock(&chain[i]), 0);
    ck_assert_uint_eq(fake.depth, 0);
    check_untouched(&chain[0]);
}
END_TEST

/* One held for real and two elided, the real one taken first; all six orders of unlock. */
START_TEST(locks_held_and_elided_unlock_in_any_order)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    fresh_chain();
    for (int order = 0; order < 6; order++) {
        FAKE_SCRIPT({.status = HTM_CAPACITY});
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(pthread_mutex_lock(&chain[i]), 0);
        check_held_physically(&chain[0]);
        ck_assert_uint_eq(fake.depth, 2);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(pthread_mutex_unlock(&chain[orders[order][i]]), 0);
        ck_assert_uint_eq(fake.depth, 0);
        ck_assert_uint_eq(fake.ends, 2);
        for (int i = 0; i < 3; i++)
            check_untouched(&chain[i]);
    }
}
END_TEST

START_TEST(a_recursive_mutex_counts_inside_a_transaction)
{
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&recursive), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&recursive), 0);
    ck_assert_int_eq(pthread_mutex_timedlock(&recursive, &long_ago), 0);
    ck_assert_uint_eq(recursive.__data.__count, 3);
    ck_assert_int_eq(pthread_mutex_unlock(&recursive), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0); /* still held twice, and now for all to see */
    ck_assert_uint_eq(fake.depth, 0);
    check_held_physically(&recursive);
    ck_assert_int_eq(pthread_mutex_unlock(&recursive), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&recursive), 0); /* given up inside the next one */
    ck_assert_int_eq(pthread_mutex_unlock(&recursive), EPERM);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    check_untouched(&recursive);
    ck_assert_uint_eq(fake.ends, 2);
}
END_TEST

/* POSIX leaves it undefined; a program that does so under libc keeps its section whole. */
START_TEST(unlocking_a_default_mutex_that_is_not_locked_does_not_end_the_section_it_is_in)
{
    pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;

    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&c), 0);
    ck_assert_uint_eq(fake.depth, 2);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0); /* a second time */
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.depth, 0);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.ends, 2);
    check_untouched(&a);
    check_untouched(&b);
    check_untouched(&c);
}
END_TEST

static void a_handler_elides_b(void)
{
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.depth, 0);
}

/* The handler ran after the thread noted which lock it elides and before its transaction began. */
START_TEST(a_section_is_tried_again_if_a_signal_handler_elided_on_its_doorstep)
{
    FAKE_SCRIPT({.status = HTM_STARTED, .meanwhile = a_handler_elides_b});
    FAKE_ABORTS(HTM_CODE_BUSY, pthread_mutex_lock(&a));

    FAKE_SCRIPT({.status = BUSY, .meanwhile = a_handler_elides_b});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_uint_eq(fake.depth, 0);
    ck_assert_uint_eq(fake.ends, 2);
    check_untouched(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex nesting");
    TCase *tests = tcase_create("mutex nesting");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, unlocking_a_mutex_that_is_not_locked_ends_no_transaction);
    tcase_add_test(tests, a_lock_held_physically_is_released_physically_inside_a_transaction);
    tcase_add_test(tests, nested_locks_are_elided_flat_and_unlock_in_any_order);
    tcase_add_test(tests, a_busy_inner_lock_aborts_everything_without_a_wait);
    tcase_add_test(tests, a_busy_inner_lock_of_a_type_never_elided_aborts_everything_too);
    tcase_add_test(tests, a_free_inner_lock_of_a_type_never_elided_is_taken_inside_the_transaction);
    tcase_add_test(tests, trylock_elides_a_free_lock_and_answers_busy_without_a_transaction);
    tcase_add_test(tests, trylock_does_not_wait_for_a_lock_that_made_it_abort);
    tcase_add_test(tests, in_a_transaction_trylock_elides_a_free_lock);
    tcase_add_test(tests, in_a_transaction_trylock_of_a_lock_held_by_another_is_busy);
    tcase_add_test(tests, a_transaction_ends_at_a_trylock_of_a_lock_that_it_elides);
    tcase_add_loop_test(tests, under_a_policy_without_memory_a_transaction_ends_at_each_trylock, 0,
                        RETRY_POLICIES);
    tcase_add_test(tests, a_transaction_ends_at_a_timed_lock_and_at_destroy);
    tcase_add_test(tests, run_again_physically_a_trylock_of_the_own_lock_is_busy);
    tcase_add_test(tests, a_timed_lock_elides_a_free_lock_and_waits_physically_for_a_held_one);
    tcase_add_test(tests, a_condition_wait_never_happens_inside_a_transaction);
    tcase_add_test(tests, run_again_physically_the_wait_is_libcs_and_returns_with_the_lock);
    tcase_add_test(tests, elided_sections_write_to_no_mutex_under_any_policy);
    tcase_add_test(tests, hand_over_hand_is_one_transaction_from_the_first_lock_to_the_last_unlock);
    tcase_add_test(tests, nesting_deeper_than_the_processor_allows_takes_the_outermost_lock);
    tcase_add_test(tests, locks_held_and_elided_unlock_in_any_order);
    tcase_add_test(tests, a_recursive_mutex_counts_inside_a_transaction);
    tcase_add_test(tests,
                   unlocking_a_default_mutex_that_is_not_locked_does_not_end_the_section_it_is_in);
    tcase_add_test(tests, a_section_is_tried_again_if_a_signal_handler_elided_on_its_doorstep);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
