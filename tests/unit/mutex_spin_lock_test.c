/*
 * SPDX-License-Identifier: MIT
 *
 * Spin locks under the scripted back end: when a section is elided, which lock an unlock ends, and
 * what a thread remembers of the one that failed last.
 */
#include "mutex_elision_fixture.h"

#include "run_suite.h"

static pthread_spinlock_t locks[2]; /* in one 8 bytes: told apart all the same */

static void fresh_locks(void)
{
    fresh();
    locks[0] = locks[1] = SPIN_LOCK_FREE;
}

START_TEST(a_free_lock_is_elided_and_not_written)
{
    pthread_spinlock_t *lock = (pthread_spinlock_t *)&page;

    *lock = SPIN_LOCK_FREE;
    page_protect();
    ck_assert_int_eq(pthread_spin_lock(lock), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_spin_unlock(lock), 0);
    ck_assert_int_eq(pthread_spin_trylock(lock), 0);
    ck_assert_int_eq(pthread_spin_unlock(lock), 0);
    ck_assert_uint_eq(fake.ends, 2);
}
END_TEST

START_TEST(neighbours_are_told_apart_and_unlock_in_any_order)
{
    for (int first = 0; first < 2; first++) {
        ck_assert_int_eq(pthread_spin_lock(&locks[0]), 0);
        ck_assert_int_eq(pthread_spin_lock(&locks[1]), 0);
        ck_assert_int_eq(pthread_spin_unlock(&locks[first]), 0);
        ck_assert_int_eq(pthread_spin_unlock(&locks[first]), 0); /* no longer locked */
        ck_assert_uint_eq(fake.depth, 1);
        ck_assert_int_eq(pthread_spin_unlock(&locks[!first]), 0);
        ck_assert_uint_eq(fake.depth, 0);
    }
    ck_assert_int_eq(locks[0], SPIN_LOCK_FREE);
    ck_assert_int_eq(locks[1], SPIN_LOCK_FREE);
}
END_TEST

START_TEST(a_section_that_cannot_be_elided_takes_the_lock)
{
    FAKE_SCRIPT({.status = HTM_CAPACITY});
    ck_assert_int_eq(pthread_spin_lock(&locks[0]), 0);
    ck_assert_int_eq(locks[0], 0);
    ck_assert_int_eq(pthread_spin_trylock(&locks[0]), EBUSY);
    ck_assert_int_eq(pthread_spin_lock(&locks[1]), 0); /* elided */
    ck_assert_int_eq(pthread_spin_unlock(&locks[0]), 0);
    ck_assert_int_eq(locks[0], SPIN_LOCK_FREE);
    ck_assert_uint_eq(fake.ends, 0);
    ck_assert_int_eq(pthread_spin_unlock(&locks[1]), 0);
    ck_assert_uint_eq(fake.ends, 1);
}
END_TEST

/* libc's waiters decrement, so that a held lock may read anything below 1. */
START_TEST(an_inner_lock_that_is_held_aborts_busy)
{
    static const int held[] = {0, -1, -7};

    for (unsigned i = 0; i < sizeof held / sizeof held[0]; i++) {
        locks[1] = held[i];
        ck_assert_int_eq(pthread_mutex_lock(&a), 0);
        FAKE_ABORTS(HTM_CODE_BUSY, pthread_spin_lock(&locks[1]));
        ck_assert_int_eq(pthread_spin_trylock(&locks[1]), EBUSY);
        ck_assert_int_eq(locks[1], held[i]);
    }
}
END_TEST

START_TEST(a_try_inside_a_transaction_elides_and_leaves_it_only_for_a_lock_it_elides)
{
    elision_policy = POLICY_ADAPTIVE;
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_spin_trylock(&locks[0]), 0);
    ck_assert_uint_eq(fake.depth, 2);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_spin_trylock(&locks[0]));
}
END_TEST

static bool elides_now(pthread_spinlock_t *lock)
{
    ck_assert_int_eq(pthread_spin_lock(lock), 0);
    bool elided = fake.depth == 1;
    ck_assert_int_eq(pthread_spin_unlock(lock), 0);
    return elided;
}

START_TEST(the_lock_that_failed_last_is_tried_less_and_no_other)
{
    elision_policy = POLICY_ADAPTIVE;
    FAKE_SCRIPT({.status = HTM_CAPACITY, .times = 2});
    ck_assert(!elides_now(&locks[0]));
    ck_assert(!elides_now(&locks[0]));
    ck_assert(elides_now(&locks[1]));
    ck_assert(!elides_now(&locks[0])); /* skipped */
    ck_assert(elides_now(&locks[0]));
    ck_assert_uint_eq(fake.begins, 4);
}
END_TEST

START_TEST(without_transactions_it_is_libcs_lock)
{
    htm_usable = false;
    ck_assert_int_eq(pthread_spin_lock(&locks[0]), 0);
    ck_assert_int_eq(locks[0], 0);
    ck_assert_int_eq(pthread_spin_trylock(&locks[0]), EBUSY);
    ck_assert_int_eq(pthread_spin_unlock(&locks[0]), 0);
    ck_assert_int_eq(locks[0], SPIN_LOCK_FREE);
    locks[0] = -3;
    ck_assert_int_eq(pthread_spin_unlock(&locks[0]), 0);
    ck_assert_int_eq(locks[0], SPIN_LOCK_FREE);
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spin lock");
    TCase *tests = tcase_create("spin lock");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh_locks, NULL);
    tcase_add_test(tests, a_free_lock_is_elided_and_not_written);
    tcase_add_test(tests, neighbours_are_told_apart_and_unlock_in_any_order);
    tcase_add_test(tests, a_section_that_cannot_be_elided_takes_the_lock);
    tcase_add_test(tests, an_inner_lock_that_is_held_aborts_busy);
    tcase_add_test(tests,
                   a_try_inside_a_transaction_elides_and_leaves_it_only_for_a_lock_it_elides);
    tcase_add_test(tests, the_lock_that_failed_last_is_tried_less_and_no_other);
    tcase_add_test(tests, without_transactions_it_is_libcs_lock);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
