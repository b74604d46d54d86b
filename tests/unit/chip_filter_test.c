/*
 * SPDX-License-Identifier: MIT
 *
 * The filters against an exact set: no false negative whatever is inserted and removed, few false
 * positives at the sizes of section IV-A, room again after those that share a place are gone, and
 * tables of the d-left filter that are given up lose nothing.
 */
#include "chip/coherence/filter.h"

#include "base/random.h"
#include "run_suite.h"

#include <check.h>
#include <stdlib.h>

enum { UNIVERSE = 4096 };

static struct filter filter_of(enum machine_filter kind, uint32_t tables, uint32_t rows)
{
    struct machine machine;
    struct filter filter;

    machine_defaults(&machine);
    machine.llc.banks = 1;
    machine.filter.kind = (uint32_t)kind;
    machine.filter.counter_bits = kind == MACHINE_CBF ? 4 : 3;
    machine.filter.remainder_bits = 9;
    ck_assert(filter_init(&filter, &machine, tables, 7, rows));
    return filter;
}

START_TEST(what_was_inserted_is_always_found)
{
    struct filter filter = filter_of(_i == 0 ? MACHINE_CBF : MACHINE_DLEFT, 4, 24);
    static bool inserted[UNIVERSE];
    uint64_t random = 1;
    unsigned full = 0;

    for (unsigned step = 0; step < 100000; step++) {
        uint64_t block = random_below(&random, UNIVERSE);

        if (inserted[block]) {
            filter_remove(&filter, block);
            inserted[block] = false;
        } else if (filter_has_room(&filter, block)) {
            filter_insert(&filter, block);
            inserted[block] = true;
        } else {
            full++;
            for (uint64_t other = 0; other < UNIVERSE; other++) {
                if (inserted[other] && filter_shares(&filter, block, other)) {
                    filter_remove(&filter, other);
                    inserted[other] = false;
                }
            }
            ck_assert(filter_has_room(&filter, block));
        }
        block = random_below(&random, UNIVERSE);
        ck_assert(!inserted[block] || filter_holds(&filter, block));
    }
    ck_assert_uint_gt(full, 0);
    for (uint64_t block = 0; block < UNIVERSE; block++)
        if (inserted[block])
            filter_remove(&filter, block);
    for (uint64_t block = 0; block < UNIVERSE; block++)
        ck_assert(!filter_holds(&filter, block)); /* empty again */
    filter_destroy(&filter);
}
END_TEST

/*
 * Section IV-A: four tables, buckets of 8 cells with 9 bits, 3/4 full: 0.75 * 8 * 4 / 2^9 = 4.7 %.
 * A CBF with 8 counters of 4 bits a block and 4 hash functions: (1 - e^(-4/8))^4 = 2.4 %.
 */
START_TEST(false_positives_are_as_rare_as_derived)
{
    static const double expected[] = {0.024, 0.047};
    enum { ROWS = 1536, LOOKUPS = 200000 };
    struct filter filter = filter_of(_i == 0 ? MACHINE_CBF : MACHINE_DLEFT, 4, ROWS);
    uint64_t counters = (uint64_t)filter.size * 4;
    uint64_t blocks = _i == 0 ? counters / 8 : counters * filter.cells * 3 / 4;
    unsigned positives = 0;

    for (uint64_t block = 0; block < blocks; block++) {
        ck_assert(filter_has_room(&filter, block));
        filter_insert(&filter, block);
    }
    for (uint64_t block = blocks; block < blocks + LOOKUPS; block++)
        positives += filter_holds(&filter, block);
    ck_assert_double_eq_tol((double)positives / LOOKUPS, expected[_i], expected[_i] / 5);
    filter_destroy(&filter);
}
END_TEST

START_TEST(a_table_that_is_given_up_loses_nothing)
{
    enum { ROWS = 384, BLOCKS = 900 };
    struct filter filter = filter_of(MACHINE_DLEFT, 4, ROWS);

    for (uint64_t block = 0; block < BLOCKS; block++)
        filter_insert(&filter, block);
    ck_assert(filter_shrink(&filter));
    ck_assert(filter_shrink(&filter));
    ck_assert_uint_eq(filter.tables, 2);
    for (uint64_t block = 0; block < BLOCKS; block++)
        ck_assert(filter_holds(&filter, block));
    filter_grow(&filter);
    for (uint64_t block = 0; block < BLOCKS; block++)
        filter_remove(&filter, block);
    for (uint64_t block = 0; block < BLOCKS; block++)
        ck_assert(!filter_holds(&filter, block));
    filter_destroy(&filter);
}
END_TEST

START_TEST(a_table_without_room_elsewhere_stays)
{
    struct filter filter = filter_of(MACHINE_DLEFT, 2, 24);
    uint64_t block = 0;

    while (filter_has_room(&filter, block))
        filter_insert(&filter, block++);
    ck_assert(!filter_shrink(&filter));
    ck_assert_uint_eq(filter.tables, 2);
    while (block-- > 0)
        ck_assert(filter_holds(&filter, block));
    filter_destroy(&filter);
}
END_TEST

/* The private blocks of flask16's 16 banks: 81,920, so 5,120 each. */
static struct filter filter_of_a_bank(uint32_t bits_a_block, uint64_t *blocks)
{
    enum { TABLES = 4 };
    struct machine machine;
    struct filter filter;

    machine_defaults(&machine);
    *blocks = machine_private_blocks(&machine) / machine.llc.banks;
    ck_assert(filter_init(&filter, &machine, TABLES, 7,
                          (uint32_t)(*blocks * bits_a_block / TABLES / 64)));
    return filter;
}

/* Blocks of one bank: their numbers are multiples of the number of banks. */
START_TEST(a_filter_of_few_bits_has_room_for_all_private_blocks)
{
    uint64_t blocks;
    struct filter filter = filter_of_a_bank((uint32_t)_i, &blocks);

    for (uint64_t block = 0; block < blocks; block++) {
        ck_assert(filter_has_room(&filter, block * 16));
        filter_insert(&filter, block * 16);
    }
    for (uint64_t block = 0; block < blocks; block++)
        ck_assert(filter_holds(&filter, block * 16));
    filter_destroy(&filter);
}
END_TEST

START_TEST(a_filter_of_16_bits_a_block_is_rarely_wrong)
{
    uint64_t blocks, positives = 0;
    struct filter filter = filter_of_a_bank(16, &blocks);

    for (uint64_t block = 0; block < blocks; block++)
        filter_insert(&filter, block * 16);
    for (uint64_t block = blocks; block < 11 * blocks; block++)
        positives += filter_holds(&filter, block * 16);
    ck_assert_double_eq_tol((double)positives / (double)(10 * blocks), 0.047, 0.01);
    filter_destroy(&filter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_filter");
    TCase *tests = tcase_create("chip_filter");

    tcase_add_loop_test(tests, what_was_inserted_is_always_found, 0, 2);
    tcase_add_loop_test(tests, false_positives_are_as_rare_as_derived, 0, 2);
    tcase_add_test(tests, a_table_that_is_given_up_loses_nothing);
    tcase_add_test(tests, a_table_without_room_elsewhere_stays);
    tcase_add_loop_test(tests, a_filter_of_few_bits_has_room_for_all_private_blocks, 2, 16);
    tcase_add_test(tests, a_filter_of_16_bits_a_block_is_rarely_wrong);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
