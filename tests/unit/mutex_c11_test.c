/*
 * SPDX-License-Identifier: MIT
 *
 * What C11's entry to the front promises beyond POSIX's: its mutexes are elided although libc gives
 * them a kind that POSIX forbids to elide, and it answers in C11's codes. The back end is scripted
 * (mutex_fake_htm.h); mtx_* and cnd_*wait below are ours, renamed by macros, mtx_init is libc's.
 */
#include "mutex/mutex_layout.h"
#include "mutex/thread_id.h"
#include "mutex_fake_htm.h"
#include "ttstle_lock/elision/elision.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <threads.h>

#define PHYSICAL FAKE_EXPLICIT(HTM_CODE_PHYSICAL)

static mtx_t a, b;
static const struct timespec long_ago = {.tv_sec = 1};

static void fresh(void)
{
    ck_assert_int_eq(mtx_init(&a, mtx_plain), thrd_success);
    ck_assert_int_eq(mtx_init(&b, mtx_timed), thrd_success);
    elision_policy = POLICY_PAPER;
    fake_script(NULL, 0);
}

static pthread_mutex_t *bytes(mtx_t *mutex)
{
    return (pthread_mutex_t *)mutex;
}

static void check_untouched(mtx_t *mutex)
{
    ck_assert_int_eq(*mutex_word(bytes(mutex)), WORD_FREE);
    ck_assert_int_eq(mutex_owner(bytes(mutex)), 0);
    ck_assert_uint_eq(bytes(mutex)->__data.__nusers, 0);
}

static void check_held_physically(mtx_t *mutex)
{
    ck_assert_int_ne(*mutex_word(bytes(mutex)), WORD_FREE);
    ck_assert_int_eq(mutex_owner(bytes(mutex)), thread_id());
    ck_assert_uint_eq(bytes(mutex)->__data.__nusers, 1);
}

START_TEST(plain_and_timed_mutexes_are_elided_by_lock_trylock_and_timedlock)
{
    mtx_t *const mutexes[] = {&a, &b};

    for (int i = 0; i < 2; i++) {
        mtx_t *mutex = mutexes[i];
        fake_script(NULL, 0);
        ck_assert_int_eq(mtx_lock(mutex), thrd_success);
        ck_assert_uint_eq(fake.depth, 1);
        check_untouched(mutex);
        ck_assert_int_eq(mtx_unlock(mutex), thrd_success);
        ck_assert_int_eq(mtx_trylock(mutex), thrd_success);
        ck_assert_uint_eq(fake.depth, 1);
        ck_assert_int_eq(mtx_unlock(mutex), thrd_success);
        ck_assert_int_eq(mtx_timedlock(mutex, &long_ago), thrd_success);
        ck_assert_uint_eq(fake.depth, 1);
        ck_assert_int_eq(mtx_unlock(mutex), thrd_success);
        ck_assert_uint_eq(fake.depth, 0);
        ck_assert_uint_eq(fake.begins, 3);
        ck_assert_uint_eq(fake.ends, 3);
        check_untouched(mutex);
    }
}
END_TEST

START_TEST(the_entry_decides_and_not_the_kind)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t normal;

    ck_assert_int_eq(pthread_mutexattr_init(&attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL), 0);
    ck_assert_int_eq(pthread_mutex_init(&normal, &attributes), 0);
    ck_assert_uint_eq(mutex_kind(&normal), mutex_kind(bytes(&a))); /* else this tests nothing */

    ck_assert_int_eq(pthread_mutex_lock(&normal), 0);
    ck_assert_uint_eq(fake.depth, 0);
    ck_assert_int_eq(normal.__data.__lock, WORD_HELD);
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(mtx_unlock(&a), thrd_success);
    ck_assert_int_eq(pthread_mutex_unlock(&normal), 0);
    ck_assert_uint_eq(fake.ends, 1);
}
END_TEST

START_TEST(a_recursive_mutex_is_not_elided)
{
    mtx_t mutex;

    ck_assert_int_eq(mtx_init(&mutex, mtx_plain | mtx_recursive), thrd_success);
    ck_assert_int_eq(mtx_lock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_lock(&mutex), thrd_success);
    check_held_physically(&mutex);
    ck_assert_int_eq(mtx_unlock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_unlock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_unlock(&mutex), thrd_error);
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

START_TEST(posix_and_c11_sections_nest_in_one_transaction)
{
    pthread_mutex_t posix = PTHREAD_MUTEX_INITIALIZER;

    ck_assert_int_eq(pthread_mutex_lock(&posix), 0);
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    ck_assert_uint_eq(fake.depth, 2);
    ck_assert_int_eq(pthread_mutex_unlock(&posix), 0);
    ck_assert_int_eq(mtx_unlock(&a), thrd_success);
    ck_assert_uint_eq(fake.depth, 0);
    check_untouched(&a);
}
END_TEST

START_TEST(answers_are_c11_codes_with_and_without_transactions)
{
    const struct timespec malformed = {.tv_nsec = -1};
    mtx_t destroyed;

    htm_usable = _i;
    *mutex_word(bytes(&a)) = WORD_HELD; /* by some other thread */
    ck_assert_int_eq(mtx_trylock(&a), thrd_busy);
    ck_assert_int_eq(mtx_timedlock(&a, &long_ago), thrd_timedout);
    ck_assert_int_eq(mtx_timedlock(&a, &malformed), thrd_error);

    ck_assert_int_eq(mtx_init(&destroyed, mtx_plain), thrd_success);
    mtx_destroy(&destroyed);
    ck_assert_int_eq(mtx_lock(&destroyed), thrd_error);
    ck_assert_int_eq(mtx_trylock(&destroyed), thrd_error);
    ck_assert_int_eq(mtx_unlock(&destroyed), thrd_error);
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

START_TEST(unlocking_a_mutex_that_is_not_locked_ends_no_transaction)
{
    ck_assert_int_eq(mtx_unlock(&a), thrd_success);
    htm_usable = false;
    ck_assert_int_eq(mtx_unlock(&a), thrd_success);
    check_untouched(&a);
    ck_assert_uint_eq(fake.ends, 0);
}
END_TEST

START_TEST(trylock_timedlock_and_destroy_of_a_mutex_that_may_be_elided_run_again_physically)
{
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, mtx_trylock(&a));
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, mtx_timedlock(&a, &long_ago));
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, (mtx_destroy(&a), 0));
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_mutex_trylock(bytes(&a))); /* by its other name */

    FAKE_SCRIPT({.status = PHYSICAL});
    ck_assert_int_eq(mtx_lock(&a), thrd_success); /* what the hardware goes on with */
    ck_assert_int_eq(mtx_trylock(&a), thrd_busy);
    ck_assert_int_eq(mtx_timedlock(&a, &long_ago), thrd_timedout);
    mtx_destroy(&a); /* busy: leaves it alone */
    check_held_physically(&a);
    ck_assert_int_eq(mtx_unlock(&a), thrd_success);
}
END_TEST

START_TEST(a_condition_wait_aborts_and_the_section_waits_with_the_lock_taken)
{
    cnd_t condition;

    ck_assert_int_eq(cnd_init(&condition), thrd_success);
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, cnd_wait(&condition, &a));
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    ck_assert_int_eq(mtx_lock(&b), thrd_success);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, cnd_timedwait(&condition, &b, &long_ago));
    ck_assert_uint_eq(fake.depth_at_abort, 2);
    ck_assert_uint_eq(fake.ends, 0); /* neither committed first */

    FAKE_SCRIPT({.status = PHYSICAL});
    ck_assert_int_eq(mtx_lock(&a), thrd_success);
    ck_assert_int_eq(cnd_timedwait(&condition, &a, &long_ago), thrd_timedout);
    check_held_physically(&a); /* libc has released and re-taken it */
    ck_assert_int_eq(mtx_unlock(&a), thrd_success);
    check_untouched(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("C11 entry");
    TCase *claims = tcase_create("claims");

    tcase_add_checked_fixture(claims, fresh, NULL);
    tcase_add_test(claims, plain_and_timed_mutexes_are_elided_by_lock_trylock_and_timedlock);
    tcase_add_test(claims, the_entry_decides_and_not_the_kind);
    tcase_add_test(claims, a_recursive_mutex_is_not_elided);
    tcase_add_test(claims, posix_and_c11_sections_nest_in_one_transaction);
    tcase_add_loop_test(claims, answers_are_c11_codes_with_and_without_transactions, 0, 2);
    tcase_add_test(claims, unlocking_a_mutex_that_is_not_locked_ends_no_transaction);
    tcase_add_test(
        claims, trylock_timedlock_and_destroy_of_a_mutex_that_may_be_elided_run_again_physically);
    tcase_add_test(claims, a_condition_wait_aborts_and_the_section_waits_with_the_lock_taken);
    suite_add_tcase(suite, claims);
    return run_suite(suite);
}
