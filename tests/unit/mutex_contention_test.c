/*
 * SPDX-License-Identifier: MIT
 *
 * The contention managers at work in a mutex: what comes between two attempts, and what ends them.
 */
#include "mutex_elision_fixture.h"
#include "ttstle_lock/elision/hourglass.h"

#include "run_suite.h"

#define CONFLICT (HTM_CONFLICT | HTM_RETRY)

static void fresh_backoff(void)
{
    fresh();
    elision_policy = POLICY_BACKOFF;
}

static void fresh_serialise(void)
{
    fresh();
    elision_policy = POLICY_SERIALISE;
}

static void fresh_hourglass(void)
{
    fresh();
    elision_policy = POLICY_HOURGLASS;
    hourglass_after_fork();
}

static void lock_and_unlock_a(bool elided)
{
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.depth, elided);
    ck_assert_int_eq(mutex_is_free(&a), elided);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    check_untouched(&a);
    ck_assert_int_eq(a.__data.__elision, 0);
}

static void fail_times(unsigned status, unsigned times)
{
    const struct fake_step step = {.status = status, .times = times};

    fake_script(&step, 1);
}

/* ---- back-off ---- */

START_TEST(a_random_back_off_is_in_a_span_that_doubles_up_to_a_bound)
{
    for (unsigned failures = 1; failures < 20; failures++) {
        unsigned span = 4u << (failures < 10 ? failures : 10), upper_half = 0;

        for (unsigned draw = 0; draw < 1000; draw++) {
            unsigned pauses = retry_policy_random_back_off(failures, 4711, draw);
            ck_assert_uint_ge(pauses, 1);
            ck_assert_uint_le(pauses, span);
            upper_half += pauses > span / 2;
        }
        ck_assert_uint_ge(upper_half, 430);
        ck_assert_uint_le(upper_half, 570);
    }
}
END_TEST

START_TEST(random_back_offs_tell_threads_and_attempts_apart)
{
    unsigned same_thread = 0, same_draw = 0;

    for (unsigned draw = 0; draw < 1000; draw++) {
        unsigned pauses = retry_policy_random_back_off(10, 4711, draw);
        same_thread += pauses == retry_policy_random_back_off(10, 4711, draw + 1);
        same_draw += pauses == retry_policy_random_back_off(10, 4712, draw);
    }
    ck_assert_uint_le(same_thread, 10);
    ck_assert_uint_le(same_draw, 10);
}
END_TEST

START_TEST(under_backoff_each_attempt_waits_at_random_and_none_is_the_last)
{
    unsigned pauses = 0;

    fail_times(CONFLICT, 300);
    for (unsigned failures = 1; failures <= 300; failures++)
        pauses += retry_policy_random_back_off(failures, (unsigned)thread_id(), failures - 1);
    lock_and_unlock_a(true);
    ck_assert_uint_eq(fake.begins, 301);
    ck_assert_uint_eq(fake.pauses, pauses);
}
END_TEST

START_TEST(under_backoff_a_lock_that_was_taken_meanwhile_is_tried_again_later)
{
    fail_times(BUSY, 3);
    lock_and_unlock_a(true);
    ck_assert_uint_eq(fake.begins, 4);
    ck_assert_uint_ge(fake.pauses, 3);
}
END_TEST

/* ---- serialise ---- */

static const unsigned curable[] = {CONFLICT, HTM_CONFLICT | HTM_NESTED, BUSY};
enum { CURABLE = sizeof curable / sizeof curable[0] };

START_TEST(under_serialise_the_hundredth_abort_in_a_row_takes_the_lock)
{
    fail_times(curable[_i], 1000);
    lock_and_unlock_a(false);
    ck_assert_uint_eq(fake.begins, 100);
    ck_assert_uint_eq(fake.pauses, 0);
}
END_TEST

START_TEST(under_serialise_the_hundredth_attempt_may_commit_and_the_next_section_starts_anew)
{
    for (int section = 0; section < 3; section++) {
        fail_times(CONFLICT, 99);
        lock_and_unlock_a(true);
        ck_assert_uint_eq(fake.begins, 100);
    }
}
END_TEST

/* ---- the hourglass ---- */

/* What another thread gets to hear. */
static void *ask(void *answer)
{
    *(bool *)answer = hourglass_admits(false);
    return NULL;
}

static bool another_thread_may_begin(void)
{
    bool answer;
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, ask, &answer), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return answer;
}

static void others_may_begin(void)
{
    ck_assert(another_thread_may_begin());
}

static void others_may_not_begin(void)
{
    ck_assert(!another_thread_may_begin());
}

START_TEST(the_128th_abort_in_a_row_turns_the_hourglass_and_the_commit_opens_it)
{
    FAKE_SCRIPT({.status = CONFLICT, .times = 127},
                {.status = CONFLICT, .meanwhile = others_may_begin},
                {.status = HTM_STARTED, .meanwhile = others_may_not_begin});
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 129);
    check_untouched(&a);
    others_may_not_begin();
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    others_may_begin();
}
END_TEST

START_TEST(the_end_of_a_nested_section_leaves_the_hourglass_as_it_is)
{
    fail_times(CONFLICT, 128);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    others_may_not_begin();
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
    others_may_begin();
}
END_TEST

static const struct fake_step last_aborts[] = {
    {.status = HTM_CAPACITY, .meanwhile = others_may_not_begin},
    {.status = 0, .meanwhile = others_may_not_begin},
    {.status = BUSY | HTM_NESTED, .meanwhile = others_may_not_begin},
};
enum { LAST_ABORTS = sizeof last_aborts / sizeof last_aborts[0] };

START_TEST(an_abort_that_retrying_cannot_cure_opens_it_and_takes_the_lock)
{
    const struct fake_step steps[] = {{.status = CONFLICT, .times = 128}, last_aborts[_i]};

    fake_script(steps, 2);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 129);
    check_held_physically(&a);
    others_may_begin();
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(a_thread_that_alone_aborts_128_times_more_takes_the_lock)
{
    fail_times(CONFLICT, 100000);
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
    ck_assert_uint_eq(fake.begins, 256);
    check_held_physically(&a);
    others_may_begin();
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

/* A holder that begins an elided section before it unlocks. */
static void *wait_to_be_admitted_and_release_a(void *argument)
{
    while (!hourglass_admits(false))
        sched_yield();
    __atomic_store_n(mutex_word(&a), WORD_FREE, __ATOMIC_RELEASE);
    return argument;
}

static pthread_t holder;

static void a_is_held_by_one_who_waits_at_the_hourglass(void)
{
    others_may_not_begin();
    somebody_takes_a();
    ck_assert_int_eq(pthread_create(&holder, NULL, wait_to_be_admitted_and_release_a, NULL), 0);
}

START_TEST(the_owner_opens_it_while_it_waits_for_a_lock_and_turns_it_again)
{
    FAKE_SCRIPT({.status = CONFLICT, .times = 128},
                {.status = BUSY, .meanwhile = a_is_held_by_one_who_waits_at_the_hourglass},
                {.status = HTM_STARTED, .meanwhile = others_may_not_begin});
    lock_and_unlock_a(true);
    ck_assert_uint_eq(fake.begins, 130);
    ck_assert_int_eq(pthread_join(holder, NULL), 0);
}
END_TEST

static void *turn(void *argument)
{
    ck_assert(hourglass_admits(true));
    return argument;
}

static void another_thread_turns_it_and_ends(void)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, turn, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(what_an_ended_thread_has_turned_is_opened_by_who_waits)
{
    tts_wait = (enum tts_wait)_i;
    another_thread_turns_it_and_ends();
    lock_and_unlock_a(true);
    ck_assert_uint_ge(fake.pauses, 400);
    others_may_begin();
}
END_TEST

START_TEST(two_that_want_to_be_alone_are_so_in_turn)
{
    another_thread_turns_it_and_ends();
    ck_assert(!hourglass_admits(true));
    hourglass_wait();
    ck_assert(hourglass_admits(true));
    others_may_not_begin();
}
END_TEST

START_TEST(a_signal_handler_of_the_owner_is_not_kept_out_by_it)
{
    ck_assert(hourglass_admits(true));
    lock_and_unlock_a(true);
    ck_assert_uint_eq(fake.pauses, 0);
}
END_TEST

START_TEST(trylock_waits_for_no_hourglass)
{
    another_thread_turns_it_and_ends();
    ck_assert_int_eq(pthread_mutex_trylock(&a), 0);
    ck_assert_uint_eq(fake.begins, 0);
    ck_assert_uint_eq(fake.pauses, 0);
    check_held_physically(&a);
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}
END_TEST

START_TEST(a_child_of_fork_finds_it_open)
{
    another_thread_turns_it_and_ends();
    hourglass_after_fork();
    lock_and_unlock_a(true);
    ck_assert_uint_eq(fake.pauses, 0);
}
END_TEST

/* Every thread reads that line before each transaction. */
static void no_write_on_the_normal_path(void)
{
    lock_and_unlock_a(true);
    fail_times(CONFLICT, 127);
    lock_and_unlock_a(true);
    others_may_begin();
}

START_TEST(up_to_127_aborts_the_hourglass_is_only_read)
{
    /* Turned by another one: who only reads leaves it so, and an opening would show. */
    no_write_on_the_normal_path();
    another_thread_turns_it_and_ends();
    hourglass_open();
    others_may_not_begin();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex contention");
    TCase *backoff = tcase_create("backoff"), *serialise = tcase_create("serialise"),
          *hourglass = tcase_create("hourglass");

    tcase_add_checked_fixture(backoff, fresh_backoff, NULL);
    tcase_add_test(backoff, a_random_back_off_is_in_a_span_that_doubles_up_to_a_bound);
    tcase_add_test(backoff, random_back_offs_tell_threads_and_attempts_apart);
    tcase_add_test(backoff, under_backoff_each_attempt_waits_at_random_and_none_is_the_last);
    tcase_add_test(backoff, under_backoff_a_lock_that_was_taken_meanwhile_is_tried_again_later);
    suite_add_tcase(suite, backoff);

    tcase_add_checked_fixture(serialise, fresh_serialise, NULL);
    tcase_add_loop_test(serialise, under_serialise_the_hundredth_abort_in_a_row_takes_the_lock, 0,
                        CURABLE);
    tcase_add_test(
        serialise,
        under_serialise_the_hundredth_attempt_may_commit_and_the_next_section_starts_anew);
    suite_add_tcase(suite, serialise);

    tcase_set_timeout(hourglass, 40);
    tcase_add_checked_fixture(hourglass, fresh_hourglass, NULL);
    tcase_add_test(hourglass, the_128th_abort_in_a_row_turns_the_hourglass_and_the_commit_opens_it);
    tcase_add_test(hourglass, the_end_of_a_nested_section_leaves_the_hourglass_as_it_is);
    tcase_add_loop_test(hourglass, an_abort_that_retrying_cannot_cure_opens_it_and_takes_the_lock,
                        0, LAST_ABORTS);
    tcase_add_test(hourglass, a_thread_that_alone_aborts_128_times_more_takes_the_lock);
    tcase_add_test(hourglass, the_owner_opens_it_while_it_waits_for_a_lock_and_turns_it_again);
    tcase_add_loop_test(hourglass, what_an_ended_thread_has_turned_is_opened_by_who_waits,
                        TTS_WAIT_SPIN, TTS_WAIT_PARK + 1);
    tcase_add_test(hourglass, two_that_want_to_be_alone_are_so_in_turn);
    tcase_add_test(hourglass, a_signal_handler_of_the_owner_is_not_kept_out_by_it);
    tcase_add_test(hourglass, trylock_waits_for_no_hourglass);
    tcase_add_test(hourglass, a_child_of_fork_finds_it_open);
    tcase_add_test(hourglass, up_to_127_aborts_the_hourglass_is_only_read);
    suite_add_tcase(suite, hourglass);

    return run_suite(suite);
}
