/*
 * SPDX-License-Identifier: MIT
 *
 * Tiny blocks (CIA_TINY=1): how they are packed, that a line is one CPU's, and that none is lost or
 * handed out twice when threads move, free for each other, fork, or trim.
 */
#include "base/random.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/pages/decay_policy.h"

#include "cia_clock.h"
#include "cia_fixture.h"
#include "run_suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 6000 };

static unsigned char *blocks[MANY];

static void ask_for_tiny_blocks(void)
{
    setenv("CIA_TINY", "1", 1);
    cia_free(cia_allocate(1)); /* the setting is read with the first sub-heap */
}

static const size_t requests[] = {0, 1, 15, 16, 17, 31, 32};
enum { REQUESTS = sizeof requests / sizeof requests[0] };

START_TEST(requests_of_up_to_32_bytes_get_16_or_32_and_longer_ones_whole_lines)
{
    for (int i = 0; i < MANY; i++) {
        size_t bytes = (size_t)i % 80;
        size_t usable = bytes <= 16 ? 16 : bytes <= 32 ? 32 : bytes <= 64 ? 64 : 128;

        blocks[i] = cia_allocate(bytes);
        ck_assert_uint_eq(cia_usable(blocks[i]), usable);
        ck_assert_uint_eq((uintptr_t)blocks[i] % (usable < 64 ? usable : 64), 0);
        memset(blocks[i], i & 0xff, usable);
    }
    for (int i = 0; i < MANY; i++) {
        for (size_t k = 0; k < cia_usable(blocks[i]); k++)
            ck_assert_uint_eq(blocks[i][k], i & 0xff);
        cia_free(blocks[i]);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(fresh_blocks_fill_whole_lines_in_the_order_of_their_addresses)
{
    size_t bytes = _i == 0 ? 16 : 32;
    uint32_t next_to = 0;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(bytes);
    for (int i = 1; i < MANY; i++)
        next_to += blocks[i] == blocks[i - 1] + bytes;
    /* All but where a page ends. */
    ck_assert_uint_ge(next_to, MANY - 1 - MANY * bytes / PAGE_BYTES - 1);
}
END_TEST

START_TEST(a_thousand_blocks_that_come_and_go_wait_in_the_magazine)
{
    enum { BATCH = 1000 };
    const struct magazine *magazine;

    stay_on_cpu(sched_getcpu());
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < BATCH; i++)
            blocks[i] = cia_allocate(16);
        for (int i = 0; i < BATCH; i++)
            cia_free(blocks[i]);
    }
    magazine = &heap_here()->magazines->own[TINY_MAGAZINES];
    ck_assert_uint_ge(magazine_cached(magazine), BATCH);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(an_aligned_request_is_aligned)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (int i = 0; i < 200; i++) {
            blocks[i] = cia_allocate_aligned(alignment, (size_t)i % 33);
            ck_assert_uint_eq((uintptr_t)blocks[i] % alignment, 0);
            ck_assert_uint_ge(cia_usable(blocks[i]), (size_t)i % 33);
        }
        for (int i = 0; i < 200; i++)
            cia_free(blocks[i]);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(reallocation_keeps_the_bytes_from_16_to_longer_and_back)
{
    for (int round = 0; round < MANY; round++) {
        static const size_t steps[] = {16, 32, 64, 500, 33, 32, 17, 16, 1};
        unsigned char *block = cia_allocate(1);

        block[0] = (unsigned char)round;
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            block = cia_reallocate(block, steps[i]);
            ck_assert_ptr_nonnull(block);
            ck_assert_uint_ge(cia_usable(block), steps[i]);
            ck_assert_uint_eq(block[0], (unsigned char)round);
            memset(block, round, steps[i]);
        }
        cia_free(block);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(zeroed_blocks_read_as_zero)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            size_t bytes = requests[i % REQUESTS];

            blocks[i] = cia_allocate_zeroed(bytes);
            for (size_t k = 0; k < bytes; k++)
                ck_assert_uint_eq(blocks[i][k], 0);
            memset(blocks[i], 0xff, bytes);
        }
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
    }
}
END_TEST

START_TEST(every_malloc_is_counted_and_what_waits_is_not_live)
{
    struct cia_totals before, after;

    cia_totals_read(&before);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
        cia_totals_read(&after);
        ck_assert_uint_eq(after.live_blocks - before.live_blocks, MANY);
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
        cia_totals_read(&after);
        ck_assert_uint_eq(after.live_blocks, before.live_blocks);
        ck_assert_uint_eq(after.allocations - before.allocations, (uint64_t)MANY * (round + 1));
    }
}
END_TEST

START_TEST(a_trim_gives_all_pages_back)
{
    struct cia_totals before, used, after;

    cia_trim();
    cia_totals_read(&before);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
        cia_totals_read(&used);
        ck_assert_uint_ge(used.run_bytes - before.run_bytes, MANY * 16);
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
        ck_assert(cia_trim());
        cia_totals_read(&after);
        ck_assert_uint_eq(after.run_bytes, before.run_bytes);
    }
}
END_TEST

/* The CPU whose sub-heap has the block's line. */
static uint32_t owner_of(const void *block)
{
    return ((struct chunk *)page_source_owner(block))->owner->number;
}

START_TEST(a_line_is_one_cpus_whoever_frees)
{
    uint64_t random = 1;
    uint64_t served = 0;

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    for (int i = 0; i < MANY; i++)
        blocks[i] = NULL;
    for (int round = 0; round < 60; round++) {
        int cpu = round % 2;

        stay_on_cpu(cpu);
        for (int i = 0; i < MANY / 4; i++) {
            unsigned char **place = &blocks[random_below(&random, MANY)];

            cia_free(*place);
            *place = cia_allocate(random_below(&random, 33));
            if (cia_usable(*place) <= 32) {
                ck_assert_uint_eq(owner_of(*place), (uint32_t)cpu);
                served++;
            }
        }
    }
    ck_assert_uint_gt(served, MANY);
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(what_waits_unused_goes_home)
{
    struct magazine *magazine;
    uint32_t waiting;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(16);
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    magazine = &heap_here()->magazines->own[TINY_MAGAZINES];
    waiting = magazine_cached(magazine);
    ck_assert_uint_gt(waiting, 0);
    for (int i = 0; i <= 2 * DECAY_STEPS; i++) {
        ck_assert(i >= DECAY_STEPS / 4 || magazine_cached(magazine) == waiting);
        clock_milliseconds += DECAY_DEFAULT / DECAY_STEPS + 1;
        flush_housekeeping();
    }
    ck_assert_uint_eq(magazine_cached(magazine), 0);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

/* Blocks go from thread to thread; each knows its address and its length. */
static void *_Atomic slots[64];

static void *exchange(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    for (int i = 0; i < 100000; i++) {
        size_t bytes = 16 + random_below(&random, 17);
        uint64_t *block = cia_allocate(bytes);

        block[0] = bytes;
        block[1] = (uintptr_t)block ^ bytes;
        if (random_below(&random, 1000) == 0)
            stay_on_cpu((int)random_below(&random, 2));
        if (random_below(&random, 5000) == 0)
            cia_trim();
        block = atomic_exchange(&slots[random_below(&random, 64)], block);
        if (block == NULL)
            continue;
        ck_assert_uint_eq(block[1], (uintptr_t)block ^ block[0]);
        ck_assert_uint_ge(cia_usable(block), block[0]);
        block[1] = 0;
        cia_free(block);
    }
    return NULL;
}

START_TEST(threads_that_move_trim_and_free_for_each_other_lose_nothing)
{
    pthread_t threads[EXCHANGERS];

    start_exchangers(threads, exchange);
    join_exchangers(threads);
    for (int i = 0; i < 64; i++)
        cia_free(atomic_load(&slots[i]));
    ck_assert_uint_eq(live_blocks(), 0);
    cia_trim();
}
END_TEST

START_TEST(what_another_thread_frees_comes_back)
{
    struct cia_totals first, last;

    /* On one CPU allocated, on another freed: nothing but the owner ever takes it. */
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    for (int round = 0; round < 100; round++) {
        stay_on_cpu(0);
        for (int i = 0; i < MANY; i++)
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
        stay_on_cpu(1);
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
        cia_totals_read(round == 0 ? &first : &last);
    }
    ck_assert_uint_eq(last.live_blocks, first.live_blocks);
    ck_assert_uint_le(last.run_bytes, first.run_bytes + 4 * PAGE_BYTES);
}
END_TEST

START_TEST(the_child_of_a_fork_uses_what_it_finds)
{
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(requests[i % REQUESTS]);
    for (int i = 0; i < MANY; i += 2)
        cia_free(blocks[i]);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 1; i < MANY; i += 2)
            cia_free(blocks[i]);
        for (int i = 0; i < MANY; i++) {
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
            memset(blocks[i], i & 0xff, requests[i % REQUESTS]);
        }
        for (int i = 0; i < MANY; i++) {
            if (requests[i % REQUESTS] > 0 && blocks[i][0] != (i & 0xff))
                _exit(1);
            cia_free(blocks[i]);
        }
        _exit(live_blocks() != 0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* So many blocks are freed before and after it: it waits at the end of a magazine, in the middle,
   in its page, on the list of another CPU. */
static const int freed_between[] = {0, 1, 63, 64, 65, 1000, 3000};

START_TEST(a_block_that_is_free_is_not_freed_again)
{
    int between = freed_between[_i / 2];

    stay_on_cpu(0);
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(24);
    if (_i % 2 != 0 && sysconf(_SC_NPROCESSORS_ONLN) >= 2)
        stay_on_cpu(1);
    unsigned char *volatile block = blocks[0];
    cia_free(block);
    for (int i = 1; i <= between; i++)
        cia_free(blocks[i]);
    cia_free(block);
}
END_TEST

START_TEST(a_program_may_write_the_mark_of_free_blocks)
{
    for (int i = 0; i < MANY; i++) {
        blocks[i] = cia_allocate(16);
        *tiny_mark(blocks[i]) = TINY_FREE_MARK;
    }
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(the_inside_of_a_block_is_no_block)
{
    char *volatile block = cia_allocate(32);

    cia_free(block + (_i == 0 ? 16 : 8));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia tiny blocks");
    TCase *tests = tcase_create("tiny");
    int places = 2 * (int)(sizeof freed_between / sizeof freed_between[0]);

    tcase_set_timeout(tests, 100);
    tcase_add_checked_fixture(tests, ask_for_tiny_blocks, NULL);
    tcase_add_test(tests, requests_of_up_to_32_bytes_get_16_or_32_and_longer_ones_whole_lines);
    tcase_add_loop_test(tests, fresh_blocks_fill_whole_lines_in_the_order_of_their_addresses, 0, 2);
    tcase_add_test(tests, a_thousand_blocks_that_come_and_go_wait_in_the_magazine);
    tcase_add_test(tests, an_aligned_request_is_aligned);
    tcase_add_test(tests, reallocation_keeps_the_bytes_from_16_to_longer_and_back);
    tcase_add_test(tests, zeroed_blocks_read_as_zero);
    tcase_add_test(tests, every_malloc_is_counted_and_what_waits_is_not_live);
    tcase_add_test(tests, a_trim_gives_all_pages_back);
    tcase_add_test(tests, what_waits_unused_goes_home);
    tcase_add_test(tests, a_line_is_one_cpus_whoever_frees);
    tcase_add_test(tests, threads_that_move_trim_and_free_for_each_other_lose_nothing);
    tcase_add_test(tests, what_another_thread_frees_comes_back);
    tcase_add_test(tests, the_child_of_a_fork_uses_what_it_finds);
    tcase_add_loop_test_raise_signal(tests, a_block_that_is_free_is_not_freed_again, SIGABRT, 0,
                                     places);
    tcase_add_test(tests, a_program_may_write_the_mark_of_free_blocks);
    tcase_add_loop_test_raise_signal(tests, the_inside_of_a_block_is_no_block, SIGABRT, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
