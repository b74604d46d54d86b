/*
 * SPDX-License-Identifier: MIT
 *
 * What the statistics count of transactions.
 */
#include "mplace.h"
#include "mutex/statistics/statistics.h"
#include "mutex_elision_fixture.h"

#include "run_suite.h"

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

int main(void)
{
    Suite *suite = suite_create("mutex elision counts");
    TCase *tests = tcase_create("mutex elision counts");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, statistics_count_each_abort_under_one_cause);
    tcase_add_test(tests, statistics_count_what_is_nested_when_the_outermost_commits);
    tcase_add_test(tests, statistics_fill_no_more_than_the_caller_has_room_for);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
