/*
 * SPDX-License-Identifier: MIT
 *
 * The fully associative cache against sequences worked out by hand, and against the set-associative
 * model with one set, which is the same thing done the slow way.
 */
#include "cache_model/cache_model.h"
#include "cache_model/full_lru.h"

#include "base/random.h"
#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void make(struct full_lru *cache, uint32_t lines)
{
    void *memory = malloc(full_lru_bytes(lines));

    ck_assert_ptr_nonnull(memory);
    memset(memory, 0xa5, full_lru_bytes(lines)); /* init must not count on zeroes */
    full_lru_init(cache, lines, memory);
}

static void unmake(struct full_lru *cache)
{
    free(cache->place);
}

START_TEST(the_line_not_used_for_longest_goes)
{
    struct full_lru cache;

    make(&cache, 3);
    ck_assert(!full_lru_access(&cache, 0));
    ck_assert(!full_lru_access(&cache, 64));
    ck_assert(!full_lru_access(&cache, 128));
    ck_assert(full_lru_access(&cache, 0));
    ck_assert(!full_lru_access(&cache, 192)); /* 64 goes */
    ck_assert(full_lru_access(&cache, 0));
    ck_assert(full_lru_access(&cache, 128));
    ck_assert(!full_lru_access(&cache, 64)); /* 192 goes */
    ck_assert(!full_lru_access(&cache, 192));
    unmake(&cache);
}
END_TEST

START_TEST(as_many_lines_as_it_holds_stay_and_one_more_turns_all_of_them_out)
{
    enum { LINES = 512, ROUNDS = 4 };
    struct full_lru cache;
    unsigned hits = 0;

    make(&cache, LINES);
    for (unsigned i = 0; i < ROUNDS * LINES; i++) /* all in one set of any cache that has sets */
        hits += full_lru_access(&cache, (uint64_t)(i % LINES) * 4096);
    ck_assert_uint_eq(hits, (ROUNDS - 1) * LINES);
    for (unsigned i = 0; i < ROUNDS * (LINES + 1); i++)
        full_lru_access(&cache, (uint64_t)(i % (LINES + 1)) * 4096);
    hits = 0;
    for (unsigned i = 0; i < ROUNDS * (LINES + 1); i++)
        hits += full_lru_access(&cache, (uint64_t)(i % (LINES + 1)) * 4096);
    ck_assert_uint_eq(hits, 0);
    unmake(&cache);
}
END_TEST

START_TEST(it_is_the_set_associative_model_with_one_set)
{
    static const uint32_t ways[] = {1, 2, 7, 64};
    uint64_t random = 1;

    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct cache_model_geometry one_set = {.sets = 1, .ways = ways[i], .line = 64};
        void *memory = malloc(cache_model_bytes(&one_set));
        struct cache_model model;
        struct full_lru cache;

        ck_assert_ptr_nonnull(memory);
        cache_model_init(&model, &one_set, CACHE_MODEL_LRU, memory);
        make(&cache, ways[i]);
        for (unsigned access = 0; access < 5000; access++) {
            uint64_t line = random_below(&random, 2 * ways[i]) * 64;
            ck_assert_msg(full_lru_access(&cache, line) == cache_model_access(&model, line, 0).hit,
                          "%u lines, access %u (seed 1)", ways[i], access);
        }
        unmake(&cache);
        free(memory);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full_lru");
    TCase *tests = tcase_create("full_lru");

    tcase_add_test(tests, the_line_not_used_for_longest_goes);
    tcase_add_test(tests, as_many_lines_as_it_holds_stay_and_one_more_turns_all_of_them_out);
    tcase_add_test(tests, it_is_the_set_associative_model_with_one_set);
    tcase_set_timeout(tests, 30);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
