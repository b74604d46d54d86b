/*
 * SPDX-License-Identifier: MIT
 *
 * What the retry policies promise, over every status that RTM can leave and over whole histories of
 * a lock's memory.
 */
#include "ttstle_lock/rtm/htm_status.h"
#include "ttstle_lock/elision/retry_policy.h"

#include "run_suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#define WITH_CODE(bits, code) ((unsigned)(bits) | (unsigned)(code) << HTM_CODE_SHIFT)

static bool takes_the_lock(enum after_abort answer)
{
    return answer == TAKE_THIS_TIME || answer == TAKE_AND_REMEMBER;
}

START_TEST(paper_retries_a_conflict_however_often_it_comes)
{
    static const unsigned counts[] = {1, 2, 8, 9, 1000, 1000000, 4294967295u};

    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ck_assert_int_eq(
            retry_policy_after_abort(POLICY_PAPER, HTM_CONFLICT | HTM_RETRY, counts[i]),
            RETRY_ONCE_FREE);
        ck_assert_int_eq(retry_policy_after_abort(POLICY_PAPER, HTM_CONFLICT, counts[i]),
                         RETRY_ONCE_FREE);
        ck_assert_int_eq(
            retry_policy_after_abort(POLICY_PAPER, HTM_CONFLICT | HTM_NESTED, counts[i]),
            RETRY_ONCE_FREE);
    }
}
END_TEST

START_TEST(paper_retries_a_busy_lock_however_often_it_comes)
{
    unsigned busy = WITH_CODE(HTM_EXPLICIT, HTM_CODE_BUSY);

    ck_assert_int_eq(retry_policy_after_abort(POLICY_PAPER, busy, 1), RETRY_ONCE_FREE);
    ck_assert_int_eq(retry_policy_after_abort(POLICY_PAPER, busy | HTM_RETRY, 1000000),
                     RETRY_ONCE_FREE);
}
END_TEST

/* The code byte is only there with the explicit bit, but a policy must not read it without. */
START_TEST(what_retrying_cannot_cure_takes_the_lock_at_the_first_abort)
{
    for (unsigned bits = 0; bits < 64; bits++) {
        static const unsigned codes[] = {0, HTM_CODE_BUSY, HTM_CODE_PHYSICAL, 0x01, 0xff};
        for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
            unsigned status = WITH_CODE(bits, codes[i]);
            bool own_busy =
                (bits & HTM_EXPLICIT) && !(bits & HTM_NESTED) && codes[i] == HTM_CODE_BUSY;
            bool conflict_only = (bits & HTM_CONFLICT) && !(bits & (HTM_CAPACITY | HTM_EXPLICIT));
            bool curable = own_busy || conflict_only;

            for (int policy = 0; policy < RETRY_POLICIES; policy++)
                ck_assert_msg(takes_the_lock(retry_policy_after_abort((enum retry_policy)policy,
                                                                      status, 1)) != curable,
                              "policy %d, status %#x", policy, status);
        }
    }
}
END_TEST

START_TEST(a_busy_inner_lock_takes_the_outer_one_instead_of_waiting_for_it)
{
    unsigned status = WITH_CODE(HTM_EXPLICIT | HTM_NESTED, HTM_CODE_BUSY);

    for (int policy = 0; policy < RETRY_POLICIES; policy++)
        ck_assert(takes_the_lock(retry_policy_after_abort((enum retry_policy)policy, status, 1)));
}
END_TEST

START_TEST(adaptive_backs_off_and_gives_a_conflict_up_after_a_few)
{
    unsigned retries = 0;

    while (retry_policy_after_abort(POLICY_ADAPTIVE, HTM_CONFLICT | HTM_RETRY, retries + 1) ==
           RETRY_AFTER_BACK_OFF)
        ck_assert_uint_lt(++retries, 100);
    ck_assert_uint_ge(retries, 2);
    ck_assert_int_eq(
        retry_policy_after_abort(POLICY_ADAPTIVE, HTM_CONFLICT | HTM_RETRY, retries + 1),
        TAKE_AND_REMEMBER);
}
END_TEST

START_TEST(adaptive_never_blames_a_lock_for_being_busy)
{
    unsigned busy = WITH_CODE(HTM_EXPLICIT, HTM_CODE_BUSY);
    unsigned retries = 0;

    while (retry_policy_after_abort(POLICY_ADAPTIVE, busy, retries + 1) == RETRY_ONCE_FREE)
        ck_assert_uint_lt(++retries, 100);
    ck_assert_uint_gt(retries, 3);
    ck_assert_int_eq(retry_policy_after_abort(POLICY_ADAPTIVE, busy, retries + 1), TAKE_THIS_TIME);
}
END_TEST

START_TEST(back_off_grows_stays_bounded_and_tells_threads_apart)
{
    unsigned differing = 0;

    for (unsigned thread = 1000; thread < 1100; thread++) {
        for (unsigned failures = 1; failures < 40; failures++) {
            unsigned pauses = retry_policy_back_off(failures, thread);
            ck_assert_uint_ge(pauses, 4);
            ck_assert_uint_le(pauses, 512);
            differing += pauses != retry_policy_back_off(failures, thread + 1);
        }
        /* Each span is twice the one before and begins where that one ends. */
        for (unsigned failures = 1; failures < 6; failures++)
            ck_assert_uint_lt(retry_policy_back_off(failures, thread),
                              retry_policy_back_off(failures + 1, thread));
    }
    ck_assert_uint_gt(differing, 100 * 39 * 9 / 10);
}
END_TEST

/* Plays a lock whose every elision fails, and returns at which acquisitions elision was tried. */
static unsigned play_hopeless(uint16_t memory, unsigned acquisitions, unsigned *tries,
                              unsigned most)
{
    unsigned count = 0;

    for (unsigned i = 0; i < acquisitions; i++) {
        if (memory_skips_left(memory) != 0) {
            memory = memory_after_skip(memory);
            continue;
        }
        ck_assert_uint_lt(count, most);
        tries[count++] = i;
        memory = memory_after_failure(memory);
    }
    return count;
}

START_TEST(a_hopeless_lock_is_tried_ever_more_rarely_but_again_and_again)
{
    unsigned tries[64];
    unsigned count = play_hopeless(0, 50000, tries, 64);

    ck_assert_uint_ge(count, 20);
    for (unsigned i = 1; i < count; i++) {
        unsigned gap = i <= 13 ? 1u << (i - 1) : 4096;
        ck_assert_uint_eq(tries[i] - tries[i - 1], gap);
    }
}
END_TEST

START_TEST(the_memory_saturates_and_counts_down_to_a_try)
{
    uint16_t memory = MEMORY_CLEAR;

    for (unsigned i = 1; i <= 100; i++) {
        memory = memory_after_failure(memory);
        ck_assert_uint_eq(memory_level(memory), i < MEMORY_LEVEL_MOST ? i : MEMORY_LEVEL_MOST);
    }
    for (unsigned skips = 4095; skips > 0; skips--) {
        ck_assert_uint_eq(memory_skips_left(memory), skips);
        memory = memory_after_skip(memory);
        ck_assert_uint_eq(memory_level(memory), MEMORY_LEVEL_MOST);
    }
    ck_assert_uint_eq(memory_skips_left(memory), 0);
}
END_TEST

/*
 * Sections that fail at random with a given probability in percent, seed 1: the share of the
 * acquisitions that is elided must come near to what is possible where most sections commit, and
 * next to nothing may be wasted on tries where most fail.
 */
START_TEST(a_lock_that_mostly_commits_is_mostly_elided_and_tries_waste_little)
{
    static const struct {
        unsigned failing, elided_at_least, wasted_at_most; /* percent of the acquisitions */
    } rows[] = {{1, 98, 2}, {5, 94, 6}, {10, 87, 11}, {20, 73, 20}, {50, 5, 20}, {80, 0, 1}};
    enum { ACQUISITIONS = 200000 };

    for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint16_t memory = MEMORY_CLEAR;
        unsigned elided = 0, wasted = 0;
        uint32_t random = 1;

        for (unsigned i = 0; i < ACQUISITIONS; i++) {
            random = random * 1664525u + 1013904223u;
            bool fails = (random >> 16) % 100 < rows[row].failing;
            if (memory_skips_left(memory) != 0) {
                memory = memory_after_skip(memory);
            } else if (fails) {
                memory = memory_after_failure(memory);
                wasted++;
            } else {
                memory = MEMORY_CLEAR;
                elided++;
            }
        }
        ck_assert_uint_ge(elided * 100, rows[row].elided_at_least * ACQUISITIONS);
        ck_assert_uint_le(wasted * 100, rows[row].wasted_at_most * ACQUISITIONS);
    }
}
END_TEST

START_TEST(any_bits_found_in_a_mutex_are_a_usable_memory)
{
    for (unsigned bits = 0; bits <= 0xffff; bits++) {
        uint16_t memory = memory_after_failure((uint16_t)bits);
        ck_assert_uint_ge(memory_level(memory), 1);
        ck_assert_uint_le(memory_level(memory), MEMORY_LEVEL_MOST);
        ck_assert_uint_eq(memory_skips_left(memory), (1u << (memory_level(memory) - 1)) - 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex policy");
    TCase *tests = tcase_create("mutex policy");

    tcase_add_test(tests, paper_retries_a_conflict_however_often_it_comes);
    tcase_add_test(tests, paper_retries_a_busy_lock_however_often_it_comes);
    tcase_add_test(tests, what_retrying_cannot_cure_takes_the_lock_at_the_first_abort);
    tcase_add_test(tests, a_busy_inner_lock_takes_the_outer_one_instead_of_waiting_for_it);
    tcase_add_test(tests, adaptive_backs_off_and_gives_a_conflict_up_after_a_few);
    tcase_add_test(tests, adaptive_never_blames_a_lock_for_being_busy);
    tcase_add_test(tests, back_off_grows_stays_bounded_and_tells_threads_apart);
    tcase_add_test(tests, a_hopeless_lock_is_tried_ever_more_rarely_but_again_and_again);
    tcase_add_test(tests, the_memory_saturates_and_counts_down_to_a_try);
    tcase_add_test(tests, a_lock_that_mostly_commits_is_mostly_elided_and_tries_waste_little);
    tcase_add_test(tests, any_bits_found_in_a_mutex_are_a_usable_memory);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
