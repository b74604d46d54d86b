/*
 * SPDX-License-Identifier: MIT
 *
 * The structures of persist_bench: whole after random operations, in a region and in ordinary
 * memory; and each check notices what is wrong with one.
 */
#include "persist_fixture.h"

#include "base/random.h"
#include "run_suite.h"
#include "workload.h"

enum { KEYS = 3000, OPERATIONS = 20000 };

static const struct workload *const workloads[] = {&workload_btree, &workload_graph, &workload_hash,
                                                   &workload_rbtree, &workload_sps};
enum { WORKLOADS = sizeof workloads / sizeof *workloads, ALL_BUT_SPS = WORKLOADS - 1 };

static uint8_t present[KEYS];
static struct session session; /* whence LeakSanitizer finds the blocks of ordinary memory */

static void operate(const struct workload *workload, uint64_t seed)
{
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t key = random_below(&seed, KEYS);

        store_begin(&session);
        workload->operate(&session, key, random_next(&seed));
        store_commit(&session, true);
        present[key] ^= 1;
    }
}

static void ordinary(const struct workload *workload)
{
    session.root = workload->create(&session, KEYS);
    operate(workload, 1);
}

START_TEST(a_structure_in_ordinary_memory_holds_its_keys)
{
    ordinary(workloads[_i]);
    ck_assert_ptr_null(workloads[_i]->check(&session, present, KEYS));
}
END_TEST

START_TEST(a_structure_in_a_region_holds_its_keys_after_the_next_open)
{
    ck_assert_int_eq(persist_create(path, 4 << 20, PERSIST_LOG_EAGER, 1 << 20), 0);
    session.region = open_region();
    session.base = persist_base(session.region);
    session.root = workloads[_i]->create(&session, KEYS);
    for (int round = 0; round < 2; round++) {
        operate(workloads[_i], (uint64_t)round);
        session.region = reopen(session.region);
        session.base = persist_base(session.region);
        ck_assert_ptr_null(workloads[_i]->check(&session, present, KEYS));
    }
    ck_assert_int_eq(persist_close(session.region), 0);
}
END_TEST

/* No key of sps comes or goes. */
START_TEST(a_check_notices_a_key_too_many_or_too_few)
{
    ordinary(workloads[_i]);
    for (int key = 0; key < KEYS; key += 100) {
        present[key] ^= 1;
        ck_assert_ptr_nonnull(workloads[_i]->check(&session, present, KEYS));
        present[key] ^= 1;
    }
}
END_TEST

START_TEST(the_check_of_sps_notices_an_entry_that_is_there_twice)
{
    uint64_t *array;

    ordinary(&workload_sps);
    array = store_at(&session, session.root);
    array[5] = array[6];
    ck_assert_ptr_nonnull(workload_sps.check(&session, present, KEYS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("persist_workloads");
    TCase *tests = tcase_create("workloads");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_structure_in_ordinary_memory_holds_its_keys, 0, WORKLOADS);
    tcase_add_loop_test(tests, a_structure_in_a_region_holds_its_keys_after_the_next_open, 0,
                        WORKLOADS);
    tcase_add_loop_test(tests, a_check_notices_a_key_too_many_or_too_few, 0, ALL_BUT_SPS);
    tcase_add_test(tests, the_check_of_sps_notices_an_entry_that_is_there_twice);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
