/*
 * SPDX-License-Identifier: MIT
 *
 * From differences of addresses of one bank to functions, and from latencies to two groups.
 */
#include "dram_probe/solver.h"
#include "dram_probe/split.h"

#include "dram_fixture.h"
#include "run_suite.h"

#include <string.h>

enum { DIFFERENCES = 256 };

/* Random differences of addresses below 1 << bits that lie in one bank; of wrong percent that is
 * not asked. */
static void draw_differences(const struct dram_map *map, unsigned bits, uint32_t wrong,
                             uint64_t *state, uint64_t differences[DIFFERENCES])
{
    uint64_t mask = (UINT64_C(1) << bits) - 64;

    for (unsigned i = 0; i < DIFFERENCES; i++) {
        bool is_wrong = random_below(state, 100) < wrong;

        do
            differences[i] = random_next(state) & mask;
        while (!is_wrong && dram_map_bank(map, differences[i]) != 0);
    }
}

static struct gf2_basis space_of_bits(unsigned first, unsigned end)
{
    struct gf2_basis space = {{0}};

    for (unsigned i = first; i < end; i++)
        space.row[i] = UINT64_C(1) << i;
    return space;
}

/* ---- functions ---- */

/* By hand: of addresses of bits 6 to 8, those in one bank of "6 7" differ by 0, 0xc0, 0x100, 0x1c0.
 */
START_TEST(the_null_space_of_a_hand_made_set_is_found)
{
    static const uint64_t same[] = {0xc0, 0x100, 0x1c0};
    struct gf2_basis space = space_of_bits(6, 9);
    uint64_t differences[3 + SOLVER_SPARE], functions[DRAM_FUNCTIONS_MOST];

    for (unsigned i = 0; i < 3 + SOLVER_SPARE; i++)
        differences[i] = same[i % 3];
    ck_assert_uint_eq(solver_solve(differences, 3 + SOLVER_SPARE, &space, 1, functions), 1);
    ck_assert_uint_eq(functions[0], 0xc0);
}
END_TEST

/* Another basis has "13 14 15 16" in it, of more bits. */
START_TEST(functions_come_with_few_bits_and_in_order)
{
    static const uint64_t expected[] = {1 << 6 | 1 << 13 | 1 << 14, 1 << 6 | 1 << 15 | 1 << 16,
                                        1 << 20};
    struct dram_map map = {
        .banks = 3, .bank = {expected[0] ^ expected[1], expected[1], expected[2] ^ expected[0]}};
    uint64_t differences[DIFFERENCES], functions[DRAM_FUNCTIONS_MOST], state = 1;
    struct gf2_basis space = space_of_bits(6, 30);

    draw_differences(&map, 30, 0, &state, differences);
    ck_assert_uint_eq(solver_solve(differences, DIFFERENCES, &space, 1, functions), 3);
    ck_assert_mem_eq(functions, expected, sizeof expected);
}
END_TEST

/* 17 functions of one bit each. */
START_TEST(more_functions_than_a_map_has_are_none)
{
    struct dram_map map = {.banks = DRAM_FUNCTIONS_MOST};
    uint64_t differences[DIFFERENCES], functions[DRAM_FUNCTIONS_MOST], state = 1;
    struct gf2_basis space = space_of_bits(6, 36);

    for (uint32_t i = 0; i < DRAM_FUNCTIONS_MOST; i++)
        map.bank[i] = UINT64_C(1) << (7 + i);
    draw_differences(&map, 36, 0, &state, differences);
    ck_assert_uint_eq(solver_solve(differences, DIFFERENCES, &space, 1, functions), 16);
    for (unsigned i = 0; i < DIFFERENCES; i++)
        differences[i] &= ~(UINT64_C(1) << 6);
    ck_assert_uint_eq(solver_solve(differences, DIFFERENCES, &space, 1, functions), 0);
}
END_TEST

/* Wrong differences, in percent; how many the finder meets is told by its own tests. */
static const uint32_t tolerated[] = {0, 2, 5, 10, 15};

START_TEST(random_functions_are_found_among_wrong_differences)
{
    uint64_t state = 7 + tolerated[_i];

    for (unsigned round = 0; round < 12; round++) {
        uint64_t differences[DIFFERENCES], functions[DRAM_FUNCTIONS_MOST];
        struct gf2_basis space = space_of_bits(6, 36);
        struct dram_map map;
        uint32_t count;

        make_random_map(&map, 1 + random_below(&state, 8), 36, &state);
        draw_differences(&map, 36, tolerated[_i], &state, differences);
        count = solver_solve(differences, DIFFERENCES, &space, round, functions);
        ck_assert_msg(same_span(functions, count, map.bank, map.banks),
                      "round %u: %u functions of %u", round, count, map.banks);
    }
}
END_TEST

/* Where it stops: nothing false is found, and with half of them wrong nothing at all. */
START_TEST(no_function_is_invented_when_too_many_are_wrong)
{
    uint64_t state = 3;

    for (uint32_t wrong = 20; wrong <= 100; wrong += 10) {
        uint64_t differences[DIFFERENCES], functions[DRAM_FUNCTIONS_MOST];
        struct gf2_basis space = space_of_bits(6, 36), known;
        struct dram_map map;
        uint32_t count;

        make_random_map(&map, 4, 36, &state);
        known = span_of(map.bank, map.banks);
        draw_differences(&map, 36, wrong, &state, differences);
        count = solver_solve(differences, DIFFERENCES, &space, wrong, functions);
        for (uint32_t i = 0; i < count; i++)
            ck_assert_msg(gf2_reduce(&known, functions[i]) == 0, "%u %% wrong", wrong);
        ck_assert(wrong < 60 || count == 0);
    }
}
END_TEST

START_TEST(too_few_differences_tell_nothing)
{
    uint64_t differences[DIFFERENCES], functions[DRAM_FUNCTIONS_MOST], state = 1;
    struct gf2_basis space = space_of_bits(6, 30);
    struct dram_map map;

    make_random_map(&map, 3, 30, &state);
    draw_differences(&map, 30, 0, &state, differences);
    ck_assert_uint_eq(solver_solve(differences, 24 + SOLVER_SPARE - 1, &space, 1, functions), 0);
    ck_assert_uint_eq(solver_solve(differences, 24 + SOLVER_SPARE, &space, 1, functions), 3);
}
END_TEST

/* Where bit 20 is always as bit 19 is, "14 20" cannot be told from "14 19"; bit 21 is never set. */
START_TEST(bits_that_do_not_vary_by_themselves_are_in_no_function)
{
    uint64_t addresses[512], differences[DIFFERENCES], functions[DRAM_FUNCTIONS_MOST], state = 1;
    struct dram_map map = {.banks = 1, .bank = {1 << 14 | 1 << 20}};
    struct gf2_basis space;
    unsigned count = 0;

    for (unsigned i = 0; i < 512; i++) {
        addresses[i] = random_next(&state) & 0xfffc0;
        addresses[i] |= (addresses[i] & 1 << 19) << 1;
    }
    solver_space(addresses, 512, &space);
    ck_assert_uint_eq(solver_bits(&space), 0xfffc0);
    while (count < DIFFERENCES) {
        uint64_t difference =
            addresses[random_below(&state, 512)] ^ addresses[random_below(&state, 512)];

        if (dram_map_bank(&map, difference) == 0)
            differences[count++] = difference;
    }
    ck_assert_uint_eq(solver_solve(differences, DIFFERENCES, &space, 1, functions), 1);
    ck_assert_uint_eq(functions[0], 1 << 14 | 1 << 19);
}
END_TEST

/* ---- latencies ---- */

enum { VALUES = 8192 };

static uint32_t values[VALUES];

/* Of a normal distribution, nearly: the sum of 12. */
static uint32_t normal(uint64_t *state, uint32_t mean, uint32_t deviation)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < 12; i++)
        sum += random_below(state, 1000);
    return mean + (uint32_t)((sum - 6000) * (int64_t)deviation / 1000);
}

START_TEST(few_slow_latencies_are_told_from_many_fast_ones)
{
    uint64_t state = 1;
    struct split split;

    for (unsigned i = 0; i < VALUES; i++)
        values[i] = normal(&state, i % 512 == 0 ? 400 : 300, 6);
    ck_assert(split_find(values, VALUES, &split));
    ck_assert_uint_eq(split.slow_count, VALUES / 512);
    ck_assert_double_eq_tol(split.fast, 300, 1);
    ck_assert_double_eq_tol(split.slow, 400, 8);
    ck_assert(split.threshold > 320 && split.threshold < 390);
}
END_TEST

START_TEST(half_of_the_latencies_may_be_slow)
{
    uint64_t state = 1;
    struct split split;

    for (unsigned i = 0; i < VALUES; i++)
        values[i] = normal(&state, i % 2 == 0 ? 400 : 300, 6);
    ck_assert(split_find(values, VALUES, &split));
    ck_assert_uint_eq(split.slow_count, VALUES / 2);
}
END_TEST

START_TEST(one_group_is_one_group)
{
    uint64_t state = 1;
    struct split split;

    for (uint32_t deviation = 0; deviation < 50; deviation += 7) {
        for (unsigned i = 0; i < VALUES; i++)
            values[i] = normal(&state, 300, deviation);
        ck_assert_msg(!split_find(values, VALUES, &split), "deviation %u: %f", deviation,
                      split.separation);
    }
    for (unsigned i = 0; i < VALUES; i++)
        values[i] = 300 + random_below(&state, 100);
    ck_assert(!split_find(values, VALUES, &split));
}
END_TEST

START_TEST(a_handful_of_slow_latencies_is_a_chance)
{
    uint64_t state = 1;
    struct split split;

    for (unsigned i = 0; i < VALUES; i++)
        values[i] = i < 7 ? 400 : normal(&state, 300, 6);
    ck_assert(!split_find(values, VALUES, &split));
    ck_assert(!split_find(values, 0, &split));
    ck_assert(!split_find(values, 1, &split));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dram_solver");
    TCase *functions = tcase_create("functions");
    TCase *latencies = tcase_create("latencies");

    tcase_add_test(functions, the_null_space_of_a_hand_made_set_is_found);
    tcase_add_test(functions, functions_come_with_few_bits_and_in_order);
    tcase_add_test(functions, more_functions_than_a_map_has_are_none);
    tcase_add_loop_test(functions, random_functions_are_found_among_wrong_differences, 0,
                        sizeof tolerated / sizeof tolerated[0]);
    tcase_add_test(functions, no_function_is_invented_when_too_many_are_wrong);
    tcase_add_test(functions, too_few_differences_tell_nothing);
    tcase_add_test(functions, bits_that_do_not_vary_by_themselves_are_in_no_function);
    tcase_add_test(latencies, few_slow_latencies_are_told_from_many_fast_ones);
    tcase_add_test(latencies, half_of_the_latencies_may_be_slow);
    tcase_add_test(latencies, one_group_is_one_group);
    tcase_add_test(latencies, a_handful_of_slow_latencies_is_a_chance);
    suite_add_tcase(suite, functions);
    suite_add_tcase(suite, latencies);
    return run_suite(suite);
}
