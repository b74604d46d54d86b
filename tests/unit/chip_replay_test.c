/*
 * SPDX-License-Identifier: MIT
 *
 * The replay: locks in simulated order, no post is lost, dependent loads one after the other, more
 * threads than cores, the region of interest, programs apart.
 */
#include "chip/cores/sync.h"
#include "chip_fixture.h"
#include "run_suite.h"

#define X UINT64_C(0x10000)

static struct chip_script *script;
static struct cores *cores;

static void setup(void)
{
    script = calloc(1, sizeof *script);
    cores = calloc(1, sizeof *cores);
    ck_assert(script != NULL && cores != NULL);
}

static void teardown(void)
{
    cores_destroy(cores);
    free(cores);
    free(script);
}

static uint64_t last_end(void)
{
    uint64_t end = 0;

    for (unsigned i = 0; i < cores->fabric.machine->core.count; i++)
        if (cores->core[i].ended > end)
            end = cores->core[i].ended;
    return end;
}

START_TEST(sections_of_a_lock_come_one_after_the_other)
{
    enum { THREADS = 8, SECTION = 6000, WIDTH = 6 };
    struct machine machine = chip_machine(MACHINE_SPARSE);

    for (unsigned i = 0; i < THREADS; i++) {
        chip_event(script, i, TRACE_ACQUIRE, 64);
        chip_event(script, i, TRACE_RELEASE, 64)->instructions = SECTION;
    }
    chip_replay(script, &machine, cores);
    ck_assert_uint_ge(last_end(), THREADS * SECTION / WIDTH);
    ck_assert_uint_le(last_end(), THREADS * (SECTION / WIDTH + machine.core.slack + 1));
}
END_TEST

START_TEST(readers_of_a_lock_are_in_together)
{
    enum { THREADS = 8, SECTION = 6000, WIDTH = 6 };
    struct machine machine = chip_machine(MACHINE_SPARSE);

    for (unsigned i = 0; i < THREADS; i++) {
        chip_event(script, i, TRACE_ACQUIRE, 64)->shared = true;
        chip_event(script, i, TRACE_RELEASE, 64)->instructions = SECTION;
    }
    chip_replay(script, &machine, cores);
    ck_assert_uint_lt(last_end(), 2 * SECTION / WIDTH);
}
END_TEST

START_TEST(a_thread_takes_a_lock_again_that_it_has)
{
    enum { SECTION = 6000, WIDTH = 6 };
    struct machine machine = chip_machine(MACHINE_SPARSE);

    for (unsigned i = 0; i < 2; i++) {
        chip_event(script, i, TRACE_ACQUIRE, 64);
        chip_event(script, i, TRACE_ACQUIRE, 64);
        chip_event(script, i, TRACE_RELEASE, 64);
        chip_event(script, i, TRACE_RELEASE, 64)->instructions = SECTION;
    }
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(cores->running, 0);
    ck_assert_uint_eq(cores->let_in, 0);
    ck_assert_uint_ge(last_end(), 2 * SECTION / WIDTH);
}
END_TEST

START_TEST(a_post_before_its_wait_is_not_lost)
{
    struct machine machine = chip_machine(MACHINE_SPARSE);
    struct trace_event *wait;

    chip_event(script, 0, TRACE_POST, 64);
    chip_event(script, 0, TRACE_POST, 64);
    wait = chip_event(script, 1, TRACE_WAIT, 64); /* long after the posts */
    wait->instructions = 100000;
    wait->value = 2;
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(cores->running, 0);
}
END_TEST

START_TEST(a_wait_ends_no_earlier_than_its_post)
{
    struct machine machine = chip_machine(MACHINE_SPARSE);
    struct trace_event *wait = chip_event(script, 0, TRACE_WAIT, 64);

    wait->thread = 1;
    wait->value = 1;
    chip_event(script, 1, TRACE_POST, 64)->instructions = 6000;
    chip_replay(script, &machine, cores);
    ck_assert_uint_ge(cores->core[0].ended, 1000);
}
END_TEST

/* The same loads, each on a block of its own: at once, and as a walk from one to the next. */
START_TEST(a_dependent_load_waits_for_the_earlier_ones)
{
    enum { LOADS = 16 };
    struct machine machine = chip_machine(MACHINE_SPARSE);
    uint64_t burst;

    for (unsigned i = 0; i < LOADS; i++)
        chip_event(script, 0, TRACE_LOAD, X + i * 64);
    chip_replay(script, &machine, cores);
    burst = last_end();
    ck_assert_uint_lt(burst, 2 * 300);
    cores_destroy(cores);

    memset(script->at, 0, sizeof script->at);
    for (unsigned i = 0; i < LOADS; i++)
        script->events[0][i].dependent = true;
    chip_replay(script, &machine, cores);
    ck_assert_uint_ge(last_end(), LOADS * 250);
}
END_TEST

START_TEST(a_window_of_one_makes_misses_come_one_after_the_other)
{
    enum { LOADS = 16 };
    struct machine machine = chip_machine(MACHINE_SPARSE);

    machine.core.window = 1;
    for (unsigned i = 0; i < LOADS; i++)
        chip_event(script, 0, TRACE_STORE, X + i * 64);
    chip_replay(script, &machine, cores);
    ck_assert_uint_ge(last_end(), LOADS * 250);
}
END_TEST

START_TEST(more_threads_than_cores_take_turns)
{
    enum { THREADS = 7 };
    struct machine machine = chip_machine(MACHINE_FLASK);

    machine.core.count = 2;
    for (unsigned i = 0; i < THREADS; i++) {
        chip_event(script, i, TRACE_ACQUIRE, 64);
        chip_event(script, i, TRACE_STORE, X);
        chip_event(script, i, TRACE_RELEASE, 64);
        chip_hand_over(script, i, (i + 3) % THREADS); /* and one of the other core's waits for it */
        chip_event(script, i, TRACE_LOAD, X);
    }
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(chip_total(cores, COUNT_ACCESSES), 2 * THREADS);
}
END_TEST

START_TEST(only_the_region_of_interest_counts)
{
    struct machine machine = chip_machine(MACHINE_SPARSE);

    chip_event(script, 0, TRACE_LOAD, X);
    chip_event(script, 0, TRACE_FENCE, 0);
    chip_event(script, 0, TRACE_MARK, 0)->what = TRACE_REGION_BEGIN;
    chip_event(script, 0, TRACE_LOAD, X);
    chip_event(script, 0, TRACE_MARK, 0)->what = TRACE_REGION_END;
    chip_event(script, 0, TRACE_LOAD, X + 4096);
    chip_replay(script, &machine, cores);
    ck_assert(cores->left);
    ck_assert_uint_eq(cores->region[0].of[COUNT_ACCESSES], 1);
    ck_assert_uint_eq(cores->region[0].of[COUNT_L1_HITS], 1);
    ck_assert_uint_eq(cores->region[0].of[COUNT_MEMORY_READS], 0);
    ck_assert_uint_lt(cores->region_end - cores->region_begin, 10);
}
END_TEST

START_TEST(a_thread_that_ends_gives_its_locks_back)
{
    struct machine machine = chip_machine(MACHINE_SPARSE);

    chip_event(script, 0, TRACE_ACQUIRE, 64);
    chip_event(script, 1, TRACE_ACQUIRE, 64)->instructions = 6000;
    chip_event(script, 1, TRACE_RELEASE, 64);
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(cores->running, 0);
    ck_assert_uint_eq(cores->let_in, 0);
}
END_TEST

/* One of the two inner acquisitions was a try in the capture, which came when the lock was free. */
START_TEST(threads_that_wait_for_one_another_go_on_and_are_counted)
{
    struct machine machine = chip_machine(MACHINE_SPARSE);

    for (unsigned i = 0; i < 2; i++) {
        uint64_t outer = i == 0 ? 64 : 128, inner = i == 0 ? 128 : 64;

        chip_event(script, i, TRACE_ACQUIRE, outer);
        chip_event(script, i, TRACE_ACQUIRE, inner)->instructions = 6000;
        chip_event(script, i, TRACE_RELEASE, inner);
        chip_event(script, i, TRACE_RELEASE, outer);
    }
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(cores->running, 0);
    ck_assert_uint_eq(cores->let_in, 1);
}
END_TEST

START_TEST(two_runs_are_the_same)
{
    struct machine machine = chip_machine(MACHINE_FLASK);
    struct counts first;

    for (int run = 0; run < 2; run++) {
        for (unsigned i = 0; run == 0 && i < 1000; i++)
            chip_event(script, i % 16, i % 3 == 0 ? TRACE_STORE : TRACE_LOAD, i * i % 64 * 64);
        memset(script->at, 0, sizeof script->at);
        chip_replay(script, &machine, cores);
        if (run == 0) {
            first = cores->fabric.counts[3];
            cores_destroy(cores);
        }
    }
    ck_assert_mem_eq(&first, &cores->fabric.counts[3], sizeof first);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_replay");
    TCase *tests = tcase_create("chip_replay");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, sections_of_a_lock_come_one_after_the_other);
    tcase_add_test(tests, readers_of_a_lock_are_in_together);
    tcase_add_test(tests, a_thread_takes_a_lock_again_that_it_has);
    tcase_add_test(tests, a_post_before_its_wait_is_not_lost);
    tcase_add_test(tests, a_wait_ends_no_earlier_than_its_post);
    tcase_add_test(tests, a_dependent_load_waits_for_the_earlier_ones);
    tcase_add_test(tests, a_window_of_one_makes_misses_come_one_after_the_other);
    tcase_add_test(tests, more_threads_than_cores_take_turns);
    tcase_add_test(tests, only_the_region_of_interest_counts);
    tcase_add_test(tests, a_thread_that_ends_gives_its_locks_back);
    tcase_add_test(tests, threads_that_wait_for_one_another_go_on_and_are_counted);
    tcase_add_test(tests, two_runs_are_the_same);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
