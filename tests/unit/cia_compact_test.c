/*
 * SPDX-License-Identifier: MIT
 *
 * Packed blocks (CIA_LINES): how long they are, how they lie over the L1 sets, when a class begins
 * to pack, and that none is lost or handed out twice when threads move, free for each other, fork,
 * or trim.
 */
#include "base/random.h"
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

static void pack(void)
{
    setenv("CIA_LINES", "compact", 1);
    cia_free(cia_allocate(1)); /* the setting is read with the first sub-heap */
}

static void pack_what_grows(void)
{
    setenv("CIA_LINES", "auto", 1);
    cia_free(cia_allocate(1));
}

static const size_t requests[] = {0, 1, 15, 16, 17, 31, 32, 33, 80, 96, 100, 500, 1000, 2000};
enum { REQUESTS = sizeof requests / sizeof requests[0] };

/* Requests, each as the first of so many blocks in a row. */
enum { IN_A_ROW = 3000 };

/* How many lines of set s a row of blocks begins in, the most over the sets; each line once. */
static uint32_t fullest_set(unsigned char *const *row, uint32_t count)
{
    uint32_t begun[64] = {0}, most = 0;
    uintptr_t lines[IN_A_ROW];
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++) {
        uintptr_t line = (uintptr_t)row[i] / LINE_BYTES;
        bool again = false;

        for (uint32_t k = n > 200 ? n - 200 : 0; k < n && !again; k++) /* neighbours are near */
            again = lines[k] == line;
        if (again)
            continue;
        lines[n++] = line;
        if (++begun[line % 64] > most)
            most = begun[line % 64];
    }
    return most;
}

START_TEST(a_packed_block_is_a_multiple_of_16_and_wastes_at_most_an_eighth)
{
    for (size_t bytes = 0; bytes <= 2112; bytes++) {
        unsigned char *block = cia_allocate(bytes);
        size_t usable = cia_usable(block);

        if ((uintptr_t)block % 16 != 0 || usable % 16 != 0 || usable < bytes ||
            (bytes <= 16 && usable != 16) ||
            (bytes > 16 && bytes <= 240 && usable > (bytes + 15) / 16 * 16 + 16) ||
            (bytes > 240 && (usable - bytes) * 8 > usable))
            ck_abort_msg("%zu bytes in a block of %zu at %p", bytes, usable, (void *)block);
        cia_free(block);
    }
}
END_TEST

/* Loop index: granules of the request. The rule: of any N in a row ceil(N / 64) + 3 at most. */
START_TEST(fresh_packed_blocks_in_a_row_spread_over_the_sets)
{
    size_t bytes = (size_t)_i * 16;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < IN_A_ROW; i++)
        blocks[i] = cia_allocate(bytes);
    for (uint32_t n = 16; n <= 1024; n *= 2) {
        for (uint32_t first = 0; first + n <= IN_A_ROW; first += 97) {
            uint32_t most = fullest_set(blocks + first, n);

            if (most > (n + 63) / 64 + 3)
                ck_abort_msg("%u blocks of %zu B from %u on put %u lines into a set", n, bytes,
                             first, most);
        }
    }
}
END_TEST

/*
 * Half of the blocks freed at random, and as many taken: of the blocks of a slot no more than its
 * share and one are live, where frees left room for that; four slots share a colour. Magazines hold
 * back what the class heap would give next, at most three of a colour of each magazine.
 */
START_TEST(recycled_packed_blocks_spread_over_the_sets)
{
    size_t bytes = (size_t)_i * 16;
    uint64_t random = (uint64_t)_i;
    uint32_t most;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(bytes);
    for (int i = 0; i < MANY; i++) {
        unsigned char **other = &blocks[random_below(&random, MANY)], *swapped = *other;

        *other = blocks[i];
        blocks[i] = swapped;
    }
    for (int i = 0; i < MANY / 2; i++)
        cia_free(blocks[i]);
    for (int i = 0; i < MANY / 4; i++)
        blocks[i] = cia_allocate(bytes);
    most = fullest_set(blocks, 512);
    if (most > 27 * 512 / 64 / 10 + 6)
        ck_abort_msg("512 recycled blocks of %zu B put %u lines into a set", bytes, most);
}
END_TEST

START_TEST(the_inside_of_a_packed_block_is_no_block)
{
    static const size_t lengths[] = {32, 80, 96, 400, 1040};
    size_t bytes = lengths[_i / 4];
    char *volatile block;

    /* Half of the time where a magazine would take it. */
    for (uint32_t i = 0; i < 2000 && _i % 4 >= 2; i++) {
        block = cia_allocate(bytes);
        cia_free(block);
    }
    block = cia_allocate(bytes);
    cia_free(block + (_i % 2 == 0 ? 16 : 8));
}
END_TEST

static bool shares_lines(size_t bytes)
{
    void *block = cia_allocate(bytes);
    bool shares = cia_usable(block) % LINE_BYTES != 0;

    cia_free(block);
    return shares;
}

START_TEST(with_auto_a_class_packs_once_more_lives_than_can_be_hot)
{
    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < 1000; i++)
        blocks[i] = cia_allocate(100);
    ck_assert(!shares_lines(100));
    for (int i = 1000; i < MANY; i++)
        blocks[i] = cia_allocate(100);
    ck_assert(shares_lines(100));
    ck_assert(!shares_lines(500)); /* another class */
    for (int i = 0; i < MANY; i++) {
        ck_assert_uint_ge(cia_usable(blocks[i]), 100);
        cia_free(blocks[i]);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(with_auto_many_calls_for_few_blocks_pack_nothing)
{
    for (int i = 0; i < 100000; i++)
        cia_free(cia_allocate(100));
    ck_assert(!shares_lines(100));
}
END_TEST

/* Of 16 B too, of which four begin in one line and so have one colour. */
START_TEST(a_thousand_blocks_that_come_and_go_wait_in_the_magazine)
{
    enum { BATCH = 1000 };
    size_t bytes = _i == 0 ? 16 : 32;
    const struct magazine *magazine;

    stay_on_cpu(sched_getcpu());
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < BATCH; i++)
            blocks[i] = cia_allocate(bytes);
        for (int i = 0; i < BATCH; i++)
            cia_free(blocks[i]);
    }
    magazine = &heap_here()->magazines->own->of_class[size_class_for(bytes)];
    ck_assert_uint_ge(magazine_cached(magazine), BATCH);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

/* Whose magazine has a place for each of them. */
START_TEST(the_four_blocks_of_16_bytes_in_a_line_wait_together)
{
    const struct magazine *magazine;
    int used = 0, waiting = 0;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < 1000; i++)
        blocks[i] = cia_allocate(16);
    for (int i = 0; i < 1000; i++)
        cia_free(blocks[i]);
    magazine = &heap_here()->magazines->own->of_class[size_class_for(16)];
    do
        blocks[used++] = cia_allocate(16);
    while (used < MANY && magazine_cached(magazine) != 0);
    ck_assert_uint_eq(magazine_cached(magazine), 0);
    uintptr_t line = (uintptr_t)blocks[used / 2] / LINE_BYTES;
    for (int i = 0; i < used; i++) {
        if ((uintptr_t)blocks[i] / LINE_BYTES == line) {
            cia_free(blocks[i]);
            waiting++;
        }
    }
    ck_assert_int_eq(waiting, 4);
    ck_assert_uint_eq(magazine_cached(magazine), 4);
}
END_TEST

/* After frees of one colour alone: a magazine that is full of it would refuse whatever comes. */
START_TEST(a_load_has_as_many_blocks_of_a_colour_as_begin_in_a_line)
{
    enum { BYTES = 200 };
    unsigned size_class = size_class_for(BYTES);
    char *loaded[MAGAZINE_LOAD_MOST];
    uint32_t freed = 0;

    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(BYTES);
    for (int i = 0; i < MANY; i++) {
        if (magazine_colour(blocks[i]) == 0 && ++freed < 2 * MAGAZINE_LOAD_MOST)
            cia_free(blocks[i]);
    }
    cia_trim(); /* back to the class heap */
    struct subheap *heap = heap_here();
    ck_assert(subheap_try_lock(heap));
    uint32_t count =
        subheap_load(heap, size_class, loaded + MAGAZINE_LOAD_MOST, MAGAZINE_LOAD_MOST);
    subheap_unlock(heap);
    uint32_t of_it = 0;
    for (uint32_t i = 0; i < count; i++)
        of_it += magazine_colour(loaded[MAGAZINE_LOAD_MOST - 1 - i]) == 0;
    ck_assert_uint_ge(of_it, 1);
    ck_assert_uint_le(of_it, LINE_BYTES / GRANULE_BYTES);
}
END_TEST

START_TEST(an_aligned_request_is_aligned)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (int i = 0; i < 200; i++) {
            size_t bytes = (size_t)i * 11;

            blocks[i] = cia_allocate_aligned(alignment, bytes);
            ck_assert_uint_eq((uintptr_t)blocks[i] % alignment, 0);
            ck_assert_uint_ge(cia_usable(blocks[i]), bytes);
        }
        for (int i = 0; i < 200; i++)
            cia_free(blocks[i]);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(reallocation_keeps_the_bytes_from_length_to_length)
{
    for (int round = 0; round < MANY; round++) {
        static const size_t steps[] = {16, 32, 64, 500, 2064, 2113, 300, 33, 32, 17, 16, 1};
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

    before = cia_totals_read();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
        after = cia_totals_read();
        ck_assert_uint_eq(after.live_blocks - before.live_blocks, MANY);
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
        after = cia_totals_read();
        ck_assert_uint_eq(after.live_blocks, before.live_blocks);
        ck_assert_uint_eq(after.allocations - before.allocations, (uint64_t)MANY * (round + 1));
    }
}
END_TEST

START_TEST(a_trim_gives_all_pages_back)
{
    struct cia_totals before, used, after;

    cia_trim();
    before = cia_totals_read();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
        used = cia_totals_read();
        ck_assert_uint_ge(used.run_bytes - before.run_bytes, MANY * 16);
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
        ck_assert(cia_trim());
        after = cia_totals_read();
        ck_assert_uint_eq(after.run_bytes, before.run_bytes);
    }
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
    magazine = &heap_here()->magazines->own->of_class[size_class_for(16)];
    waiting = magazine_cached(magazine);
    ck_assert_uint_gt(waiting, 0);
    for (int i = 0; i <= 2 * DECAY_STEPS; i++) {
        ck_assert(i >= DECAY_STEPS / 4 || magazine_cached(magazine) == waiting);
        clock_milliseconds += DECAY_DEFAULT / DECAY_STEPS + 1;
        housekeeping_tick();
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
        size_t bytes = 16 + random_below(&random, 17 << random_below(&random, 7));
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
    have_another_thread();
    for (int round = 0; round < 100; round++) {
        stay_on_cpu(0);
        for (int i = 0; i < MANY; i++)
            blocks[i] = cia_allocate(requests[i % REQUESTS]);
        stay_on_cpu(1);
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
        *(round == 9 ? &first : &last) = cia_totals_read(); /* a run of each class stays */
    }
    ck_assert_uint_eq(last.live_blocks, first.live_blocks);
    ck_assert_uint_le(last.run_bytes, first.run_bytes + 64 * PAGE_BYTES);
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

START_TEST(with_auto_blocks_that_another_cpu_frees_do_not_count_as_live)
{
    enum { FEW = 60 };

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    have_another_thread();
    for (int round = 0; round < 200; round++) {
        stay_on_cpu(0);
        for (int i = 0; i < FEW; i++)
            blocks[i] = cia_allocate(1000);
        stay_on_cpu(1);
        for (int i = 0; i < FEW; i++)
            cia_free(blocks[i]);
    }
    ck_assert(!shares_lines(1000));
}
END_TEST

START_TEST(a_block_on_a_line_has_its_lines_while_its_class_begins_to_pack)
{
    for (int i = 0; i < MANY; i++) {
        blocks[i] = cia_allocate_aligned(i % 2 == 0 ? 128 : 64, i % 2 == 0 ? 36 : 100);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 64, 0);
        if (i % 2 != 0)
            ck_assert_uint_eq(cia_usable(blocks[i]) % 64, 0);
    }
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

/* So many others are freed between. */
static const int freed_between[] = {0, 1};

START_TEST(a_block_that_is_free_is_not_freed_again)
{
    int between = freed_between[_i / 2];

    have_another_thread();
    stay_on_cpu(0);
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(100);
    if (_i % 2 != 0 && sysconf(_SC_NPROCESSORS_ONLN) >= 2)
        stay_on_cpu(1);
    unsigned char *volatile block = blocks[0];
    cia_free(block);
    for (int i = 1; i <= between; i++)
        cia_free(blocks[i]);
    cia_free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia packed blocks");
    TCase *tests = tcase_create("compact"), *grows = tcase_create("auto");
    int places = 2 * (int)(sizeof freed_between / sizeof freed_between[0]);

    tcase_set_timeout(tests, 100);
    tcase_add_checked_fixture(tests, pack, NULL);
    tcase_add_test(tests, a_packed_block_is_a_multiple_of_16_and_wastes_at_most_an_eighth);
    tcase_add_loop_test(tests, fresh_packed_blocks_in_a_row_spread_over_the_sets, 1, 133);
    tcase_add_loop_test(tests, recycled_packed_blocks_spread_over_the_sets, 1, 133);
    tcase_add_loop_test(tests, a_thousand_blocks_that_come_and_go_wait_in_the_magazine, 0, 2);
    tcase_add_test(tests, the_four_blocks_of_16_bytes_in_a_line_wait_together);
    tcase_add_test(tests, a_load_has_as_many_blocks_of_a_colour_as_begin_in_a_line);
    tcase_add_test(tests, an_aligned_request_is_aligned);
    tcase_add_test(tests, reallocation_keeps_the_bytes_from_length_to_length);
    tcase_add_test(tests, zeroed_blocks_read_as_zero);
    tcase_add_test(tests, every_malloc_is_counted_and_what_waits_is_not_live);
    tcase_add_test(tests, a_trim_gives_all_pages_back);
    tcase_add_test(tests, what_waits_unused_goes_home);
    tcase_add_test(tests, threads_that_move_trim_and_free_for_each_other_lose_nothing);
    tcase_add_test(tests, what_another_thread_frees_comes_back);
    tcase_add_test(tests, the_child_of_a_fork_uses_what_it_finds);
    tcase_add_loop_test_raise_signal(tests, a_block_that_is_free_is_not_freed_again, SIGABRT, 0,
                                     places);
    tcase_add_loop_test_raise_signal(tests, the_inside_of_a_packed_block_is_no_block, SIGABRT, 0,
                                     20);
    suite_add_tcase(suite, tests);

    tcase_add_checked_fixture(grows, pack_what_grows, NULL);
    tcase_add_test(grows, with_auto_a_class_packs_once_more_lives_than_can_be_hot);
    tcase_add_test(grows, with_auto_many_calls_for_few_blocks_pack_nothing);
    tcase_add_test(grows, with_auto_blocks_that_another_cpu_frees_do_not_count_as_live);
    tcase_add_test(grows, a_block_on_a_line_has_its_lines_while_its_class_begins_to_pack);
    suite_add_tcase(suite, grows);
    return run_suite(suite);
}
