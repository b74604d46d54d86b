/*
 * SPDX-License-Identifier: MIT
 *
 * The parts of CIA_PROFILE by themselves: weights, the table of sampled blocks, the walk of a
 * stack, what is kept, the calls in order.
 */
#include "base/random.h"
#include "cia_malloc/profile/calls.h"
#include "cia_malloc/profile/kept.h"
#include "cia_malloc/profile/sampled.h"
#include "cia_malloc/profile/stack_walk.h"
#include "cia_malloc/profile/weight.h"
#include "run_suite.h"

#include <stdlib.h>

enum { INTERVAL = 512 << 10 };

START_TEST(distances_have_the_mean_and_the_median_of_their_distribution)
{
    enum { DRAWS = 200000 };
    uint64_t random = 1, sum = 0, below = 0;

    for (int i = 0; i < DRAWS; i++) {
        uint64_t distance = weight_draw(&random, INTERVAL);

        sum += distance;
        below += distance < 363408; /* INTERVAL * ln 2 */
    }
    /* Five standard deviations: 1.1 % and 0.56 %. */
    ck_assert_uint_gt(sum / DRAWS, INTERVAL * 0.989);
    ck_assert_uint_lt(sum / DRAWS, INTERVAL * 1.011);
    ck_assert_uint_gt(below, DRAWS * 0.4944);
    ck_assert_uint_lt(below, DRAWS * 0.5056);
}
END_TEST

START_TEST(a_weight_is_one_over_the_chance_to_be_sampled)
{
    /* 1 / (1 - exp(-(n + 1) / INTERVAL)), by bc. */
    ck_assert_double_eq_tol(weight_of(0, INTERVAL), 524288.5, 1e-3);
    ck_assert_double_eq_tol(weight_of(63, INTERVAL), 8192.50001017, 1e-6);
    ck_assert_double_eq_tol(weight_of(INTERVAL - 1, INTERVAL), 1.58197670686933, 1e-12);
    ck_assert_double_eq_tol(weight_of((size_t)100 * INTERVAL, INTERVAL), 1, 1e-15);
    ck_assert_double_eq_tol(weight_of(1000, 1), 1, 1e-15);
}
END_TEST

/* More than several levels hold, and as many again in the places of those taken out. */
START_TEST(what_is_added_is_found_once)
{
    enum { BLOCKS = 20000 };
    struct sample sample;

    for (int round = 0; round < 2; round++) {
        for (uintptr_t i = 1; i <= BLOCKS; i++) {
            sample = (struct sample){.bytes = i, .hidden = i % 2 != 0};
            ck_assert(sampled_add((const void *)(i * 1088), &sample));
        }
        ck_assert(!sampled_take((const void *)(uintptr_t)64, &sample));
        for (uintptr_t i = 1; i <= BLOCKS; i++) {
            ck_assert(sampled_take((const void *)(i * 1088), &sample));
            ck_assert_uint_eq(sample.bytes, i);
            ck_assert(sample.hidden == (i % 2 != 0));
            ck_assert(!sampled_take((const void *)(i * 1088), &sample));
        }
    }
}
END_TEST

struct walked {
    struct stack_walk of;
    int calls;
};

static __attribute__((noinline)) void leaf(struct walked *walked)
{
    stack_walk(__builtin_frame_address(0), &walked->of);
    walked->calls++;
}

/* A frame of another length each time. */
static __attribute__((noinline)) void varying(struct walked *walked, size_t bytes)
{
    volatile char *array = __builtin_alloca(bytes);

    array[0] = array[bytes - 1] = 1;
    leaf(walked);
    walked->calls += array[0];
}

static __attribute__((noinline)) void steady(struct walked *walked, size_t bytes)
{
    varying(walked, bytes);
    walked->calls++;
}

START_TEST(a_stack_is_the_same_by_tables_and_by_known_lengths)
{
    struct walked first = {.calls = 0}, next = {.calls = 0};

    stack_walk_start();
    /* The first walk is by tables; later ones by lengths, where these are known. */
    for (int i = 0; i < 200; i++) {
        struct walked *walked = i == 0 ? &first : &next;

        steady(walked, 100 + (size_t)(i % 7) * 1000);
        ck_assert_uint_gt(walked->of.depth, 4);
        ck_assert_uint_eq(walked->of.depth, first.of.depth);
        ck_assert_mem_eq(walked->of.address, first.of.address,
                         first.of.depth * sizeof first.of.address[0]);
    }
}
END_TEST

static __attribute__((noinline)) void deep(struct walked *walked, int depth)
{
    if (depth > 0)
        deep(walked, depth - 1);
    else
        leaf(walked);
    walked->calls++;
}

START_TEST(a_stack_deeper_than_is_kept_loses_its_outer_end)
{
    struct walked walked = {.calls = 0};

    stack_walk_start();
    for (int i = 0; i < 3; i++) {
        deep(&walked, 300);
        ck_assert_uint_eq(walked.of.depth, STACK_MOST);
        ck_assert_uint_eq(walked.of.address[STACK_MOST - 1], walked.of.address[STACK_MOST - 2]);
    }
}
END_TEST

/* A frame pointer that leads nowhere is not followed. */
START_TEST(a_broken_chain_of_frames_is_no_crash)
{
    struct stack_walk walk;
    uintptr_t frames[3][2] = {{(uintptr_t)frames[1], 0x1000}, {0x10, 0x2000}, {0, 0}};

    stack_walk((const void *)frames, &walk);
    frames[1][0] = (uintptr_t)frames; /* back */
    stack_walk((const void *)frames, &walk);
    frames[1][0] = (uintptr_t)frames[1] + 0x40000; /* perhaps not there */
    stack_walk((const void *)frames, &walk);
    ck_assert_uint_le(walk.depth, STACK_MOST);
}
END_TEST

START_TEST(what_has_the_same_key_is_kept_once)
{
    enum { MOST = 30000, VALUE_BYTES = 24 };
    uint64_t kept_before = 0, kept_now = 0;

    kept_start();
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < MOST; i++) {
            const uint64_t key[] = {i, 7};
            struct kept *call = keep(KEPT_CALL, key, 1, 0);
            struct kept *stack = keep(KEPT_STACK, key, 1, 0);
            struct kept *site = keep(KEPT_SITE, key, 2, VALUE_BYTES);
            uint64_t *values = (uint64_t *)(site + 1) + 2;

            ck_assert(call != stack && kept_key(call)[0] == i && kept_key(stack)[0] == i);
            ck_assert_mem_eq(kept_key(site), key, sizeof key);
            ck_assert_uint_eq(values[VALUE_BYTES / 8 - 1], round == 0 ? 0 : i);
            values[VALUE_BYTES / 8 - 1] = i;
        }
        kept_before = kept_now;
        kept_now = 0;
        for (const struct kept *site = kept_newest(KEPT_SITE); site != NULL; site = site->older)
            kept_now++;
    }
    ck_assert_uint_eq(kept_before, MOST);
    ck_assert_uint_eq(kept_now, MOST);
}
END_TEST

START_TEST(calls_are_each_there_once_and_ascend)
{
    enum { MOST = 3000 };
    struct calls calls;
    uint64_t count = 0;

    kept_start();
    for (uint64_t next = 0; next <= MOST; next += next < 10 ? 1 : 997) {
        for (; count < next; count++) {
            /* In some order: MOST and 7919 have no common divisor. */
            uint64_t address = 16 * (1 + count * 7919 % MOST);

            ck_assert_ptr_nonnull(keep(KEPT_CALL, &address, 1, 0));
            ck_assert_ptr_nonnull(keep(KEPT_CALL, &address, 1, 0));
        }
        ck_assert(calls_make(&calls));
        ck_assert_uint_eq(calls.count, count);
        for (uint64_t i = 0; i < count; i++) {
            ck_assert_uint_eq(calls.address[i] % 16, 0);
            ck_assert(i == 0 || calls.address[i] > calls.address[i - 1]);
        }
        calls_drop(&calls);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia_profile");
    TCase *parts = tcase_create("parts");

    tcase_add_test(parts, distances_have_the_mean_and_the_median_of_their_distribution);
    tcase_add_test(parts, a_weight_is_one_over_the_chance_to_be_sampled);
    tcase_add_test(parts, what_is_added_is_found_once);
    tcase_add_test(parts, a_stack_is_the_same_by_tables_and_by_known_lengths);
    tcase_add_test(parts, a_stack_deeper_than_is_kept_loses_its_outer_end);
    tcase_add_test(parts, a_broken_chain_of_frames_is_no_crash);
    tcase_add_test(parts, what_has_the_same_key_is_kept_once);
    tcase_add_test(parts, calls_are_each_there_once_and_ascend);
    suite_add_tcase(suite, parts);
    return run_suite(suite);
}
