/*
 * SPDX-License-Identifier: MIT
 *
 * Rwlocks under the scripted back end: when a section is elided, which lock an unlock ends, what
 * leaves a transaction; and the physical lock state by state, which libc's own functions must
 * understand.
 */
#include "mutex_elision_fixture.h"

#include "mutex/rwlock/next_rwlock.h"
#include "tts_lock/tts_rwlock.h"

#include "run_suite.h"

static pthread_rwlock_t r, s;

static void fresh_rwlocks(void)
{
    fresh();
    r = s = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

static void check_wholly_free(const pthread_rwlock_t *rwlock)
{
    ck_assert_uint_eq(rwlock->__data.__readers & ~(unsigned)RWLOCK_WRITE_PHASE, 0);
    ck_assert_uint_eq(rwlock->__data.__writers, 0);
    ck_assert_uint_eq(rwlock->__data.__writers_futex, 0);
    ck_assert_uint_eq(rwlock->__data.__wrphase_futex, rwlock->__data.__readers);
    ck_assert_int_eq(rwlock->__data.__cur_writer, 0);
}

static void somebody_reads_r(void)
{
    r.__data.__readers = RWLOCK_READER;
}

static void somebody_writes_r(void)
{
    r.__data.__readers = RWLOCK_WRITTEN;
    r.__data.__writers_futex = 1;
    r.__data.__wrphase_futex = RWLOCK_FUTEX_WRITE;
    r.__data.__cur_writer = 1;
}

/* ---- eliding ---- */

START_TEST(readers_and_writers_of_a_free_lock_are_elided_and_write_nothing_to_it)
{
    int (*const locks[])(pthread_rwlock_t *) = {pthread_rwlock_rdlock, pthread_rwlock_wrlock,
                                                pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock};
    static const unsigned phases[] = {0, RWLOCK_WRITE_PHASE};
    pthread_rwlock_t *rwlock = (pthread_rwlock_t *)&page;

    for (unsigned phase = 0; phase < 2; phase++) {
        ck_assert_int_eq(mprotect(&page, sizeof page, PROT_READ | PROT_WRITE), 0);
        rwlock->__data.__readers = phases[phase];
        page_protect();
        for (unsigned i = 0; i < 4; i++) {
            fake_script(NULL, 0);
            ck_assert_int_eq(locks[i](rwlock), 0);
            ck_assert_uint_eq(fake.depth, 1);
            ck_assert_int_eq(pthread_rwlock_unlock(rwlock), 0);
            ck_assert_uint_eq(fake.ends, 1);
        }
    }
}
END_TEST

START_TEST(a_deadline_of_any_age_elides_a_free_lock_but_one_that_is_no_time)
{
    const struct timespec no_time = {.tv_nsec = -1};

    ck_assert_int_eq(pthread_rwlock_timedrdlock(&r, &long_ago), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_clockwrlock(&r, CLOCK_MONOTONIC, &long_ago), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(fake.ends, 2);
    ck_assert_int_eq(pthread_rwlock_timedwrlock(&r, &no_time), EINVAL);
    ck_assert_int_eq(pthread_rwlock_clockrdlock(&r, CLOCK_PROCESS_CPUTIME_ID, &long_ago), EINVAL);
    ck_assert_uint_eq(fake.begins, 2);
}
END_TEST

START_TEST(a_lock_with_readers_is_read_physically_after_a_wait_that_ends)
{
    somebody_reads_r();
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_uint_eq(fake.begins, 0);
    ck_assert_uint_gt(fake.pauses, 0);
    ck_assert_uint_le(fake.pauses, 400);
    ck_assert_uint_eq(r.__data.__readers, 2 * RWLOCK_READER);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_READER);
}
END_TEST

START_TEST(readers_that_stay_are_waited_for_ever_less_often)
{
    unsigned first;

    elision_policy = POLICY_ADAPTIVE;
    somebody_reads_r();
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    first = fake.pauses;
    for (int i = 0; i < 4000; i++)
        ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_uint_lt(fake.pauses, 3 * first);
    ck_assert_uint_eq(r.__data.__readers, 4002 * RWLOCK_READER);
}
END_TEST

START_TEST(a_section_that_cannot_be_elided_is_entered_physically)
{
    FAKE_SCRIPT({.status = HTM_CAPACITY}, {.status = HTM_CAPACITY});
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_READER);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_WRITTEN);
    ck_assert_int_eq(r.__data.__cur_writer, thread_id());
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
}
END_TEST

START_TEST(readers_and_writers_learn_apart_and_a_commit_forgets)
{
    elision_policy = POLICY_ADAPTIVE;
    FAKE_SCRIPT({.status = HTM_CAPACITY, .times = 2});
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
        ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    }
    ck_assert_uint_ne(*rwlock_elision(&r, RWLOCK_WRITE), MEMORY_CLEAR);
    ck_assert_uint_eq(*rwlock_elision(&r, RWLOCK_READ), MEMORY_CLEAR);
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0); /* skipped */
    ck_assert_uint_eq(fake.depth, 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(*rwlock_elision(&r, RWLOCK_WRITE), MEMORY_CLEAR);
}
END_TEST

START_TEST(a_process_shared_lock_is_never_elided)
{
    r.__data.__shared = 1;
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_tryrdlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_timedrdlock(&r, &long_ago), 0);
    ck_assert_int_eq(pthread_rwlock_clockrdlock(&r, CLOCK_MONOTONIC, &long_ago), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

/* ---- inside a transaction ---- */

START_TEST(an_inner_lock_that_is_not_free_aborts_busy)
{
    somebody_reads_r();
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_BUSY, pthread_rwlock_rdlock(&r));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_BUSY, pthread_rwlock_wrlock(&r));
}
END_TEST

START_TEST(an_elided_reader_may_read_again_and_each_unlock_ends_one_level)
{
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_uint_eq(fake.depth, 3);
    for (unsigned left = 3; left > 0; left--) {
        ck_assert_uint_eq(fake.depth, left);
        ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    }
    ck_assert_uint_eq(fake.depth, 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
}
END_TEST

START_TEST(an_elided_lock_entered_again_in_any_other_way_leaves_the_transaction)
{
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_rdlock(&r));
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_wrlock(&r));
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_wrlock(&r));
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_rdlock(&r));
}
END_TEST

START_TEST(run_again_physically_the_writer_is_told_of_its_deadlock)
{
    FAKE_SCRIPT({.status = PHYSICAL});
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), EDEADLK);
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), EDEADLK);
    ck_assert_int_eq(pthread_rwlock_timedwrlock(&r, &long_ago), EDEADLK);
    ck_assert_int_eq(pthread_rwlock_tryrdlock(&r), EBUSY);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
}
END_TEST

START_TEST(tries_and_timed_locks_leave_the_transaction_they_are_in)
{
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_tryrdlock(&r));
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_trywrlock(&r));
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_timedrdlock(&r, &long_ago));
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_rwlock_clockwrlock(&r, CLOCK_REALTIME, &long_ago));
}
END_TEST

START_TEST(an_unlock_ends_the_section_of_its_own_lock_and_of_no_other)
{
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&s), 0); /* not locked */
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_rwlock_rdlock(&s), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0); /* no longer locked */
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_rwlock_unlock(&s), 0);
    ck_assert_uint_eq(fake.depth, 0);
}
END_TEST

START_TEST(an_outer_lock_held_physically_is_released_physically_inside_a_transaction)
{
    int (*const locks[])(pthread_rwlock_t *) = {pthread_rwlock_rdlock, pthread_rwlock_wrlock};

    for (int i = 0; i < 2; i++) {
        FAKE_SCRIPT({.status = HTM_CAPACITY});
        ck_assert_int_eq(locks[i](&r), 0); /* for real */
        ck_assert_int_eq(pthread_rwlock_wrlock(&s), 0);
        ck_assert_uint_eq(fake.depth, 1);
        ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
        ck_assert_uint_eq(fake.ends, 0);
        check_wholly_free(&r);
        ck_assert_int_eq(pthread_rwlock_unlock(&s), 0);
        ck_assert_uint_eq(fake.ends, 1);
    }
}
END_TEST

START_TEST(a_condition_wait_under_an_elided_rwlock_leaves_the_transaction)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, pthread_cond_wait(&condition, &a));
    /* The section again, its outermost lock taken; the mutex would be elided inside it. */
    FAKE_SCRIPT({.status = PHYSICAL}, {.status = PHYSICAL});
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_cond_timedwait(&condition, &a, &long_ago), ETIMEDOUT);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
}
END_TEST

/* ---- the physical lock, beside libc's ---- */

START_TEST(each_state_that_a_physical_pair_leaves_is_one_that_libc_leaves)
{
    for (int kind = 0; kind < 3; kind++) {
        htm_usable = false;
        r = s = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
        r.__data.__flags = s.__data.__flags = (unsigned)kind;
        for (int step = 0; step < 64; step++) {
            enum rwlock_side side = step >> (step & 3) & 1 ? RWLOCK_WRITE : RWLOCK_READ;
            ck_assert_int_eq(
                side == RWLOCK_READ ? pthread_rwlock_rdlock(&r) : pthread_rwlock_wrlock(&r), 0);
            ck_assert_int_eq(next_rwlock_lock(&s, side), 0);
            ck_assert_mem_eq(&r, &s, sizeof r);
            ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
            ck_assert_int_eq(next_rwlock_unlock(&s), 0);
            ck_assert_mem_eq(&r, &s, sizeof r);
        }
    }
}
END_TEST

START_TEST(an_unlock_that_has_to_wake_or_hand_over_is_left_to_libc)
{
    htm_usable = false;

    /* A writer waits for this reader, and told so in the word and on its futex. */
    r.__data.__readers = RWLOCK_READER | RWLOCK_HAS_WRITER;
    r.__data.__writers_futex = 1;
    r.__data.__wrphase_futex = RWLOCK_FUTEX_HAS_SLEEPERS;
    ck_assert(!tts_rwlock_end_read(&r, rwlock_state(&r)));
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_WRITTEN);
    ck_assert_uint_eq(r.__data.__wrphase_futex, RWLOCK_FUTEX_WRITE);

    /* A reader waits for this writer. */
    r.__data.__cur_writer = thread_id();
    r.__data.__readers = RWLOCK_WRITTEN + RWLOCK_READER;
    r.__data.__wrphase_futex = RWLOCK_FUTEX_WRITE | RWLOCK_FUTEX_HAS_SLEEPERS;
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_READER);
    ck_assert_uint_eq(r.__data.__wrphase_futex, RWLOCK_FUTEX_READ);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);

    /* Another writer sleeps, or waits for the lock to be handed over. */
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    r.__data.__writers_futex = 1 | RWLOCK_FUTEX_HAS_SLEEPERS;
    ck_assert(!tts_rwlock_end_write(&r));
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_WRITTEN);
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
    r.__data.__flags = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    ck_assert_int_eq(pthread_rwlock_wrlock(&r), 0);
    r.__data.__writers = 1;
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_WRITTEN);
    ck_assert_uint_eq(r.__data.__writers, 1u | 1u << 31);
}
END_TEST

START_TEST(the_child_of_fork_unlocks_as_the_writer_though_the_lock_names_its_parent)
{
    htm_usable = false;
    somebody_writes_r();
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    check_wholly_free(&r);
    somebody_writes_r();
    r.__data.__readers += RWLOCK_READER; /* libc has to hand the lock over */
    ck_assert_int_eq(pthread_rwlock_unlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, RWLOCK_READER);
}
END_TEST

START_TEST(a_reader_comes_past_a_waiting_writer_unless_the_kind_forbids_it)
{
    htm_usable = false;
    r.__data.__readers = RWLOCK_READER | RWLOCK_HAS_WRITER;
    ck_assert_int_eq(pthread_rwlock_tryrdlock(&r), 0);
    ck_assert_int_eq(pthread_rwlock_rdlock(&r), 0);
    ck_assert_uint_eq(r.__data.__readers, 3 * RWLOCK_READER | RWLOCK_HAS_WRITER);
    r.__data.__flags = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    ck_assert_int_eq(pthread_rwlock_tryrdlock(&r), EBUSY);
    ck_assert_int_eq(pthread_rwlock_timedrdlock(&r, &long_ago), ETIMEDOUT);
    r.__data.__flags = PTHREAD_RWLOCK_PREFER_READER_NP;
    ck_assert_int_eq(pthread_rwlock_trywrlock(&r), EBUSY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rwlock");
    TCase *tests = tcase_create("rwlock");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh_rwlocks, NULL);
    tcase_add_test(tests, readers_and_writers_of_a_free_lock_are_elided_and_write_nothing_to_it);
    tcase_add_test(tests, a_deadline_of_any_age_elides_a_free_lock_but_one_that_is_no_time);
    tcase_add_test(tests, a_lock_with_readers_is_read_physically_after_a_wait_that_ends);
    tcase_add_test(tests, readers_that_stay_are_waited_for_ever_less_often);
    tcase_add_test(tests, a_section_that_cannot_be_elided_is_entered_physically);
    tcase_add_test(tests, readers_and_writers_learn_apart_and_a_commit_forgets);
    tcase_add_test(tests, a_process_shared_lock_is_never_elided);
    tcase_add_test(tests, an_inner_lock_that_is_not_free_aborts_busy);
    tcase_add_test(tests, an_elided_reader_may_read_again_and_each_unlock_ends_one_level);
    tcase_add_test(tests, an_elided_lock_entered_again_in_any_other_way_leaves_the_transaction);
    tcase_add_test(tests, run_again_physically_the_writer_is_told_of_its_deadlock);
    tcase_add_test(tests, tries_and_timed_locks_leave_the_transaction_they_are_in);
    tcase_add_test(tests, an_unlock_ends_the_section_of_its_own_lock_and_of_no_other);
    tcase_add_test(tests,
                   an_outer_lock_held_physically_is_released_physically_inside_a_transaction);
    tcase_add_test(tests, a_condition_wait_under_an_elided_rwlock_leaves_the_transaction);
    tcase_add_test(tests, each_state_that_a_physical_pair_leaves_is_one_that_libc_leaves);
    tcase_add_test(tests, an_unlock_that_has_to_wake_or_hand_over_is_left_to_libc);
    tcase_add_test(tests, the_child_of_fork_unlocks_as_the_writer_though_the_lock_names_its_parent);
    tcase_add_test(tests, a_reader_comes_past_a_waiting_writer_unless_the_kind_forbids_it);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
