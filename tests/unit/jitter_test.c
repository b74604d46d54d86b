/*
 * SPDX-License-Identifier: MIT
 *
 * What librand_malloc's jitter promises, apart from any allocator: how much is added, how often,
 * and that the bootstrap arena hands out what it says.
 */
#include "rand_malloc/bootstrap.h"
#include "rand_malloc/jitter.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 100000 };

START_TEST(an_extra_is_a_multiple_of_the_grain_up_to_the_greatest)
{
    struct jitter jitter;
    uint64_t state, seen = 0;

    jitter_set(&jitter, 100, 128, 1);
    state = jitter_thread_state(&jitter, 0);
    for (int i = 0; i < DRAWS; i++) {
        size_t extra = jitter_extra(&jitter, &state, 500, 1);
        ck_assert_uint_ge(extra, JITTER_GRAIN);
        ck_assert_uint_le(extra, 128);
        ck_assert_uint_eq(extra % JITTER_GRAIN, 0);
        seen |= 1ull << (extra / JITTER_GRAIN);
    }
    ck_assert_uint_eq(seen, 0x1fe); /* each of 16, 32, ..., 128 */
}
END_TEST

START_TEST(an_extra_never_exceeds_a_setting_that_is_no_multiple_of_the_grain)
{
    static const uint32_t settings[] = {1, 15, 16, 17, 31, 100, 1000};

    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        struct jitter jitter;
        uint64_t state;
        size_t most = 0;

        jitter_set(&jitter, 100, settings[s], 1);
        state = jitter_thread_state(&jitter, 0);
        for (int i = 0; i < DRAWS / 10; i++) {
            size_t extra = jitter_extra(&jitter, &state, 500, 1);
            if (extra > most)
                most = extra;
        }
        ck_assert_uint_eq(most, settings[s] / JITTER_GRAIN * JITTER_GRAIN);
    }
}
END_TEST

/* 5 standard deviations of a binomial draw; the seed is fixed, so the outcome never changes. */
START_TEST(the_probability_is_a_percentage_of_the_requests)
{
    static const unsigned settings[] = {0, 1, 25, 50, 99, 100};

    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        struct jitter jitter;
        uint64_t state;
        int jittered = 0;
        int expected = (int)settings[s] * DRAWS / 100;

        jitter_set(&jitter, settings[s], 64, 7);
        state = jitter_thread_state(&jitter, 0);
        for (int i = 0; i < DRAWS; i++)
            jittered += jitter_extra(&jitter, &state, 500, 1) != 0;
        if (settings[s] == 0 || settings[s] == 100)
            ck_assert_int_eq(jittered, expected);
        ck_assert_int_lt(abs(jittered - expected), 800);
    }
}
END_TEST

START_TEST(an_extra_keeps_the_alignment_or_is_none)
{
    struct jitter jitter;
    uint64_t state;

    jitter_set(&jitter, 100, 1000, 1);
    state = jitter_thread_state(&jitter, 0);
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        size_t most = 0;
        for (int i = 0; i < 1000; i++) {
            size_t extra = jitter_extra(&jitter, &state, 512, alignment);
            ck_assert_uint_eq(extra % alignment, 0);
            ck_assert_uint_le(extra, 1000);
            if (extra > most)
                most = extra;
        }
        if (alignment <= 512)
            ck_assert_uint_gt(most, 0);
        else
            ck_assert_uint_eq(most, 0);
    }
}
END_TEST

START_TEST(a_request_that_no_allocator_grants_is_not_changed)
{
    struct jitter jitter;
    uint64_t state;

    jitter_set(&jitter, 100, 64, 1);
    state = jitter_thread_state(&jitter, 0);
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(jitter_extra(&jitter, &state, SIZE_MAX, 1), 0);
        ck_assert_uint_eq(jitter_extra(&jitter, &state, (size_t)PTRDIFF_MAX + 1, 1), 0);
        ck_assert_uint_eq(jitter_extra(&jitter, &state, (size_t)PTRDIFF_MAX, 1), 0);
        ck_assert_uint_le(jitter_extra(&jitter, &state, (size_t)PTRDIFF_MAX - 64, 1), 64);
    }
}
END_TEST

START_TEST(a_seed_repeats_and_threads_and_seeds_differ)
{
    struct jitter one, other;
    int same_thread = 0, same_seed = 0;

    jitter_set(&one, 100, 1024, 1);
    jitter_set(&other, 100, 1024, 2);
    uint64_t a = jitter_thread_state(&one, 0), b = jitter_thread_state(&one, 0);
    uint64_t c = jitter_thread_state(&one, 1), d = jitter_thread_state(&other, 0);
    for (int i = 0; i < 6400; i++) {
        size_t extra = jitter_extra(&one, &a, 500, 1);
        ck_assert_uint_eq(extra, jitter_extra(&one, &b, 500, 1));
        same_thread += extra == jitter_extra(&one, &c, 500, 1);
        same_seed += extra == jitter_extra(&other, &d, 500, 1);
    }
    /* 64 values: 100 of 6400 agree by chance. */
    ck_assert_int_lt(same_thread, 200);
    ck_assert_int_lt(same_seed, 200);
}
END_TEST

START_TEST(no_thread_state_is_zero)
{
    struct jitter jitter;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        jitter_set(&jitter, 100, 64, seed);
        for (uint64_t thread = 0; thread < 100; thread++)
            ck_assert_uint_ne(jitter_thread_state(&jitter, thread), 0);
    }
}
END_TEST

START_TEST(settings_are_read_with_their_defaults)
{
    struct jitter jitter;

    unsetenv("RAND_PROBABILITY");
    unsetenv("RAND_MAX_EXTRA");
    unsetenv("RAND_SEED");
    jitter_read_settings(&jitter);
    ck_assert_uint_eq(jitter.probability, JITTER_DEFAULT_PROBABILITY);
    ck_assert_uint_eq(jitter.max_extra, JITTER_DEFAULT_MAX_EXTRA);
    ck_assert_uint_eq(jitter.seed, JITTER_DEFAULT_SEED);
    setenv("RAND_PROBABILITY", "30", 1);
    setenv("RAND_MAX_EXTRA", "4096", 1);
    setenv("RAND_SEED", "18446744073709551615", 1);
    jitter_read_settings(&jitter);
    ck_assert_uint_eq(jitter.probability, 30);
    ck_assert_uint_eq(jitter.max_extra, 4096);
    ck_assert_uint_eq(jitter.seed, UINT64_MAX);
}
END_TEST

START_TEST(bootstrap_blocks_are_apart_aligned_zeroed_and_recognised)
{
    char *last_end = bootstrap_arena;
    int outside;

    for (size_t size = 0; size < 40; size++) {
        size_t alignment = (size_t)1 << (size % 8);
        char *block = bootstrap_allocate(size, alignment);

        ck_assert_ptr_nonnull(block);
        ck_assert(bootstrap_owns(block));
        ck_assert_uint_eq((uintptr_t)block % alignment, 0);
        ck_assert_uint_eq((uintptr_t)block % 16, 0);
        ck_assert_uint_eq(bootstrap_size(block), size);
        ck_assert(block >= last_end + sizeof(size_t));
        for (size_t i = 0; i < size; i++)
            ck_assert_int_eq(block[i], 0);
        memset(block, 0xff, size);
        last_end = block + size;
    }
    ck_assert(!bootstrap_owns(NULL));
    ck_assert(!bootstrap_owns(&outside));
    ck_assert(!bootstrap_owns(bootstrap_arena + BOOTSTRAP_BYTES));
}
END_TEST

START_TEST(a_full_bootstrap_arena_is_enomem)
{
    void *block;
    int blocks = 0;

    errno = 0;
    ck_assert_ptr_null(bootstrap_allocate(SIZE_MAX, 1));
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_ptr_null(bootstrap_allocate(1, (size_t)1 << 62));
    while ((block = bootstrap_allocate(100, 1)) != NULL) {
        ck_assert(bootstrap_owns((char *)block + 100));
        ck_assert_int_lt(++blocks, BOOTSTRAP_BYTES / 100);
    }
    ck_assert_int_gt(blocks, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitter");
    TCase *tests = tcase_create("jitter");

    tcase_add_test(tests, an_extra_is_a_multiple_of_the_grain_up_to_the_greatest);
    tcase_add_test(tests, an_extra_never_exceeds_a_setting_that_is_no_multiple_of_the_grain);
    tcase_add_test(tests, the_probability_is_a_percentage_of_the_requests);
    tcase_add_test(tests, an_extra_keeps_the_alignment_or_is_none);
    tcase_add_test(tests, a_request_that_no_allocator_grants_is_not_changed);
    tcase_add_test(tests, a_seed_repeats_and_threads_and_seeds_differ);
    tcase_add_test(tests, no_thread_state_is_zero);
    tcase_add_test(tests, settings_are_read_with_their_defaults);
    tcase_add_test(tests, bootstrap_blocks_are_apart_aligned_zeroed_and_recognised);
    tcase_add_test(tests, a_full_bootstrap_arena_is_enomem);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
