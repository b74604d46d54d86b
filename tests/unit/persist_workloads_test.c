/*
 * SPDX-License-Identifier: MIT
 *
 * The structures of persist_bench: whole after random operations, in a file and in ordinary
 * memory; and each check notices what is wrong with one.
 */
#include "persist_fixture.h"

#include "base/random.h"
#include "run_suite.h"
#include "workload.h"

enum { KEYS = 3000, OPERATIONS = 6000 };

static const struct workload *const workloads[] = {
    &workload_sps,    &workload_btree, &workload_graph, &workload_hash, &workload_rbtree,
#ifdef PERSIST_BENCH_SQLITE
    &workload_sqlite,
#endif
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads, FIRST_BUT_SPS = 1 };

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

static void finish(const struct workload *workload)
{
    if (workload->finish != NULL)
        workload->finish(&session);
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
    finish(workloads[_i]);
}
END_TEST

static void holds_its_keys_after_the_next_open(const struct workload *workload,
                                               const struct backend *backend)
{
    backend->create(path, PERSIST_LOG_EAGER, 4 << 20, 1 << 20);
    store_attach(&session, backend, backend->open(path));
    session.root = workload->create(&session, KEYS);
    for (int round = 0; round < 2; round++) {
        operate(workload, (uint64_t)round);
        backend->close(session.file);
        store_attach(&session, backend, backend->open(path));
        ck_assert_ptr_null(workload->check(&session, present, KEYS));
    }
    finish(workload);
    backend->close(session.file);
}

START_TEST(a_structure_in_a_region_holds_its_keys_after_the_next_open)
{
    holds_its_keys_after_the_next_open(workloads[_i], &backend_persist);
}
END_TEST

#ifdef PERSIST_BENCH_LIBPMEMOBJ
START_TEST(a_structure_in_a_pool_of_libpmemobj_holds_its_keys_after_the_next_open)
{
    holds_its_keys_after_the_next_open(workloads[_i], &backend_libpmemobj);
}
END_TEST
#endif

/* No key of sps comes or goes. */
START_TEST(a_check_notices_a_key_too_many_or_too_few)
{
    ordinary(workloads[_i]);
    for (int key = 0; key < KEYS; key += 100) {
        present[key] ^= 1;
        ck_assert_ptr_nonnull(workloads[_i]->check(&session, present, KEYS));
        present[key] ^= 1;
    }
    finish(workloads[_i]);
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

    tcase_set_timeout(tests, 100);

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_structure_in_ordinary_memory_holds_its_keys, 0, WORKLOADS);
    tcase_add_loop_test(tests, a_structure_in_a_region_holds_its_keys_after_the_next_open, 0,
                        WORKLOADS);
#ifdef PERSIST_BENCH_LIBPMEMOBJ
    tcase_add_loop_test(tests,
                        a_structure_in_a_pool_of_libpmemobj_holds_its_keys_after_the_next_open, 0,
                        WORKLOADS);
#endif
    tcase_add_loop_test(tests, a_check_notices_a_key_too_many_or_too_few, FIRST_BUT_SPS, WORKLOADS);
    tcase_add_test(tests, the_check_of_sps_notices_an_entry_that_is_there_twice);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
