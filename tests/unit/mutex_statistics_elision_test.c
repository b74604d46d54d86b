/*
 * SPDX-License-Identifier: MIT
 *
 * Which lock gets what: elided and nested sections, aborts and waits of the whole front with a
 * scripted back end in place of RTM (mutex_fake_htm.h). The functions under test are the interposed
 * ones, renamed by macros.
 */
#include "mplace.h"
#include "mutex/mutex_layout.h"
#include "mutex/statistics/lock_ranking.h"
#include "mutex/statistics/lock_table_pool.h"
#include "mutex/statistics/statistics.h"
#include "mutex/thread_id.h"
#include "mutex_fake_htm.h"
#include "tts_lock/tts.h"
#include "ttstle_lock/elision/elision.h"

#include "../preload/single_step.h"
#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <sys/wait.h>
#include <time.h>

enum { MANY = NESTED_SECTIONS + 5 };

static pthread_mutex_t a, b, c, many[MANY];
static struct lock_ranking ranking;

static void fresh(void)
{
    a = b = c = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < MANY; i++)
        many[i] = a;
    tts_wait = TTS_WAIT_PARK;
    elision_policy = POLICY_PAPER;
    fake_script(NULL, 0);
    mplace_lock_statistics_reset();
}

static void lock(pthread_mutex_t *mutex)
{
    ck_assert_int_eq(pthread_mutex_lock(mutex), 0);
}

static void unlock(pthread_mutex_t *mutex)
{
    ck_assert_int_eq(pthread_mutex_unlock(mutex), 0);
}

/* What is known of the mutex now; all zeroes if nothing. */
static struct lock_row row_of(const pthread_mutex_t *mutex)
{
    lock_ranking_make(&ranking, LOCK_RANKING_MOST, statistics_epoch);
    ck_assert(ranking.merged);
    for (unsigned i = 0; i < ranking.count; i++) {
        if (ranking.top[i].lock == mutex)
            return ranking.top[i];
    }
    return (struct lock_row){.lock = NULL};
}

static void check_row(const pthread_mutex_t *mutex, uint64_t physical, uint64_t committed,
                      uint64_t nested, uint64_t aborts)
{
    struct lock_row row = row_of(mutex);

    ck_assert_uint_eq(row.counts[COUNT_PHYSICAL], physical);
    ck_assert_uint_eq(row.counts[COUNT_COMMITTED], committed);
    ck_assert_uint_eq(row.counts[COUNT_NESTED], nested);
    ck_assert_uint_eq(lock_row_aborts(&row), aborts);
}

START_TEST(each_lock_of_a_transaction_is_counted_when_it_commits_whatever_the_order_of_unlock)
{
    pthread_mutex_t physical = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    lock(&a);
    lock(&b);
    unlock(&a); /* the outermost first */
    lock(&c);
    lock(&physical);
    unlock(&physical);
    unlock(&b);
    lock(&b);
    unlock(&b);
    check_row(&a, 0, 0, 0, 0);
    unlock(&c);
    check_row(&a, 0, 1, 0, 0);
    check_row(&b, 0, 0, 2, 0);
    check_row(&c, 0, 0, 1, 0);
    check_row(&physical, 1, 0, 0, 0);
    ck_assert_uint_eq(lock_row_acquisitions(&ranking.total), 5);
    ck_assert_uint_eq(ranking.unattributed, 0);
}
END_TEST

START_TEST(an_abort_is_the_outermost_locks_and_is_remembered_by_cause)
{
    FAKE_SCRIPT({.status = HTM_CAPACITY}, {.status = HTM_STARTED},
                {.status = HTM_CONFLICT | HTM_RETRY, .times = 3});
    lock(&a); /* capacity: taken physically */
    lock(&b); /* commits */
    unlock(&b);
    unlock(&a);
    lock(&b); /* three conflicts, then commits */
    lock(&a);
    unlock(&a);
    unlock(&b);
    check_row(&a, 1, 0, 1, 1);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_FIRST_ABORT + ABORT_CAPACITY], 1);
    check_row(&b, 0, 2, 0, 3);
    ck_assert_uint_eq(row_of(&b).counts[COUNT_FIRST_ABORT + ABORT_CONFLICT], 3);
}
END_TEST

START_TEST(more_locks_than_notes_are_in_the_totals_and_said_to_be_without_their_lock)
{
    struct mplace_lock_statistics counts;

    lock(&a);
    for (int i = 0; i < MANY; i++) {
        lock(&many[i]);
        unlock(&many[i]);
    }
    for (int i = 0; i < 3; i++) { /* one that has a note still counts */
        lock(&many[0]);
        unlock(&many[0]);
    }
    unlock(&a);
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.acquisitions, 1 + MANY + 3);
    check_row(&a, 0, 1, 0, 0);
    check_row(&many[0], 0, 0, 4, 0);
    check_row(&many[NESTED_SECTIONS - 1], 0, 0, 1, 0);
    check_row(&many[NESTED_SECTIONS], 0, 0, 0, 0);
    ck_assert_uint_eq(ranking.unattributed, MANY - NESTED_SECTIONS);
    /* The next transaction has all notes again. */
    lock(&a);
    lock(&many[NESTED_SECTIONS]);
    unlock(&many[NESTED_SECTIONS]);
    unlock(&a);
    check_row(&many[NESTED_SECTIONS], 0, 0, 1, 0);
    ck_assert_uint_eq(ranking.unattributed, MANY - NESTED_SECTIONS);
}
END_TEST

START_TEST(only_an_acquisition_that_had_to_retry_or_wait_is_a_wait)
{
    lock(&a);
    unlock(&a);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 0);
    FAKE_SCRIPT({.status = HTM_CONFLICT | HTM_RETRY, .times = 5},
                {.status = HTM_STARTED, .times = 2}, {.status = HTM_CAPACITY});
    lock(&a); /* elided at the sixth attempt: one wait */
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 0);
    unlock(&a);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 1);
    lock(&a); /* at the first attempt */
    unlock(&a);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 1);
    lock(&a); /* one abort, then taken: another */
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 2);
    unlock(&a);
    lock(&a);
    unlock(&a);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 2);
    ck_assert_uint_ge(row_of(&a).counts[COUNT_WAIT_NS], row_of(&a).longest_wait_ns);
    ck_assert_uint_gt(row_of(&a).longest_wait_ns, 0);
}
END_TEST

START_TEST(a_trylock_never_waits_also_when_its_transaction_aborted)
{
    FAKE_SCRIPT({.status = HTM_CAPACITY});
    ck_assert_int_eq(pthread_mutex_trylock(&a), 0);
    unlock(&a);
    check_row(&a, 1, 0, 0, 1);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 0);
    lock(&a);
    unlock(&a);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 0);
}
END_TEST

static void somebody_takes_a(void)
{
    __atomic_store_n(mutex_word(&a), WORD_HELD, __ATOMIC_RELEASE);
}

START_TEST(a_deadline_that_passes_is_a_wait_without_an_acquisition)
{
    struct timespec deadline;

    somebody_takes_a();
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &deadline), 0);
    deadline.tv_sec += deadline.tv_nsec >= 980000000;
    deadline.tv_nsec = (deadline.tv_nsec + 20000000) % 1000000000;
    ck_assert_int_eq(pthread_mutex_timedlock(&a, &deadline), ETIMEDOUT);
    check_row(&a, 0, 0, 0, 0);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 1);
    ck_assert_uint_ge(row_of(&a).counts[COUNT_WAIT_NS], 10000000);
    __atomic_store_n(mutex_word(&a), WORD_FREE, __ATOMIC_RELEASE);
    lock(&a);
    unlock(&a);
    ck_assert_uint_eq(row_of(&a).counts[COUNT_WAITS], 1);
}
END_TEST

START_TEST(counting_that_begins_inside_a_transaction_begins_with_its_commit)
{
    struct mplace_lock_statistics counts;

    lock(&c); /* the thread has a table, and has counted another lock in it */
    unlock(&c);
    uint32_t epoch = statistics_epoch;
    statistics_epoch = 0;
    lock(&a);
    statistics_epoch = epoch + 1; /* as another thread's reset would */
    unlock(&a);
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.acquisitions, 1);
    check_row(&c, 0, 0, 0, 0);
    ck_assert_uint_eq(ranking.unattributed, 1);
}
END_TEST

START_TEST(a_thread_without_a_table_gets_none_inside_a_transaction)
{
    struct mplace_lock_statistics counts;

    statistics_epoch = 0;
    lock(&a);
    mplace_lock_statistics_reset();
    lock(&b);
    unlock(&b);
    ck_assert_ptr_null(lock_table_first());
    unlock(&a);
    ck_assert_int_eq(mplace_lock_statistics(&counts, sizeof counts), 0);
    ck_assert_uint_eq(counts.tx_committed, 1);
    ck_assert_uint_eq(counts.acquisitions, 1);
    lock_ranking_make(&ranking, 10, statistics_epoch);
    ck_assert_uint_eq(ranking.locks, 0);
    ck_assert_uint_eq(ranking.unattributed, 1);
}
END_TEST

START_TEST(a_reset_restarts_the_locks_too)
{
    lock(&a);
    unlock(&a);
    lock(&b);
    unlock(&b);
    mplace_lock_statistics_reset();
    lock_ranking_make(&ranking, 10, statistics_epoch);
    ck_assert_uint_eq(ranking.locks, 0);
    lock(&b);
    unlock(&b);
    check_row(&a, 0, 0, 0, 0);
    check_row(&b, 0, 1, 0, 0);
    ck_assert_uint_eq(ranking.locks, 1);
}
END_TEST

static pthread_barrier_t both_counted;

static void *count_once(void *mutex)
{
    ck_assert_int_eq(pthread_mutex_lock(mutex), 0);
    ck_assert_int_eq(pthread_mutex_unlock(mutex), 0);
    pthread_barrier_wait(&both_counted);
    return NULL;
}

static unsigned tables(void)
{
    unsigned count = 0;

    for (struct lock_table *at = lock_table_first(); at != NULL; at = lock_table_after(at))
        count++;
    return count;
}

/* Counting began in the parent; the thread that forked has not counted and has no table. Mutexes
 * that are never elided, for the back end has transactions for one thread. */
START_TEST(threads_of_a_child_share_no_table_though_its_first_thread_has_none)
{
    int status;

    mplace_lock_statistics_reset();
    pid_t child = fork();
    if (child == 0) {
        pthread_t one, two;

        pthread_mutex_t checking[2] = {PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                       PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

        statistics_restart_in_child();
        pthread_barrier_init(&both_counted, NULL, 2);
        pthread_create(&one, NULL, count_once, &checking[0]);
        pthread_create(&two, NULL, count_once, &checking[1]);
        pthread_join(one, NULL);
        pthread_join(two, NULL);
        _exit(tables() == 2 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* its runtime keeps signals back */
static long step, fork_at;
static pid_t handlers_child;

/* What the handlers of fork do in the child is called by hand: nobody has registered them here. */
static bool fork_once(void)
{
    if (step++ < fork_at)
        return true;
    handlers_child = fork();
    if (handlers_child == 0)
        statistics_restart_in_child();
    return false;
}

static bool is_a_tables_owner(int thread)
{
    for (const struct lock_table *table = lock_table_first(); table != NULL;
         table = lock_table_after(table)) {
        if ((int)(uint32_t)table->owner == thread)
            return true;
    }
    return false;
}

/* The exit status of the child that the handler forks; 0 if it came to none. */
static void *count_first_while_a_handler_forks(void *argument)
{
    int thread = gettid(), status = 0;

    handlers_child = -1;
    single_step_on();
    statistics_acquired(&a, argument, false);
    single_step_off();
    if (handlers_child == 0) {
        statistics_acquired(&a, argument, false);
        _exit(is_a_tables_owner(thread) ? 2 : is_a_tables_owner(gettid()) ? 0 : 3);
    }
    if (handlers_child > 0)
        (void)waitpid(handlers_child, &status, 0);
    return (void *)(long)status;
}

START_TEST(a_table_that_is_claimed_while_a_handler_forks_is_the_childs_threads_there)
{
    static const long stride = 7; /* instructions: a child for each would take its time */

    single_step_with(fork_once);
    fork_at = -stride;
    do {
        pthread_t thread;
        void *status;

        fork_at += stride;
        step = 0;
        ck_assert_int_eq(pthread_create(&thread, NULL, count_first_while_a_handler_forks, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, &status), 0);
        ck_assert_int_eq((long)status, 0);
    } while (step > fork_at);
    ck_assert_int_gt(fork_at, 100);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("mutex statistics of elision");
    TCase *tests = tcase_create("attribution");

    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(
        tests, each_lock_of_a_transaction_is_counted_when_it_commits_whatever_the_order_of_unlock);
    tcase_add_test(tests, an_abort_is_the_outermost_locks_and_is_remembered_by_cause);
    tcase_add_test(tests,
                   more_locks_than_notes_are_in_the_totals_and_said_to_be_without_their_lock);
    tcase_add_test(tests, only_an_acquisition_that_had_to_retry_or_wait_is_a_wait);
    tcase_add_test(tests, a_trylock_never_waits_also_when_its_transaction_aborted);
    tcase_add_test(tests, a_deadline_that_passes_is_a_wait_without_an_acquisition);
    tcase_add_test(tests, counting_that_begins_inside_a_transaction_begins_with_its_commit);
    tcase_add_test(tests, a_thread_without_a_table_gets_none_inside_a_transaction);
    tcase_add_test(tests, a_reset_restarts_the_locks_too);
    tcase_add_test(tests, threads_of_a_child_share_no_table_though_its_first_thread_has_none);
#ifndef __SANITIZE_THREAD__
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests,
                   a_table_that_is_claimed_while_a_handler_forks_is_the_childs_threads_there);
#endif
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
