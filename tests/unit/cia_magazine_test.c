/*
 * SPDX-License-Identifier: MIT
 *
 * Magazines: what waits in them, how even it is, and that they lose nothing when threads move,
 * fork, or another thread takes them away.
 */
#include "base/random.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/magazine_exclusive.h"
#include "cia_malloc/pages/decay_policy.h"

#include "../tm/without_membarrier.h"
#include "cia_fixture.h"
#include "run_suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 300, SIZE_CLASS = 4, MANY = 3000 };

static void *blocks[MANY];

static struct magazine *magazine_of_class(void)
{
    return &heap_here()->magazines->own->of_class[SIZE_CLASS];
}

/* The class is in heavy use from now on; its magazine is empty. */
static struct magazine *open_magazine(void)
{
    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < MANY; i++)
        cia_free(cia_allocate(BYTES));
    cia_trim();
    return magazine_of_class();
}

static void allocate_many(void)
{
    for (int i = 0; i < MANY; i++)
        blocks[i] = cia_allocate(BYTES);
}

static void free_many(void)
{
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    ck_assert_uint_eq(live_blocks(), 0);
}

static uint32_t set_of(const void *block)
{
    return (uint32_t)((uintptr_t)block / LINE_BYTES) % COLOURS_LEAST;
}

START_TEST(a_class_has_no_magazine_until_it_is_in_heavy_use)
{
    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < 400; i++)
        cia_free(cia_allocate(BYTES));
    ck_assert_uint_eq(magazine_bounds_of(magazine_of_class()).ceiling, 0);
    ck_assert_uint_gt(magazine_bounds_of(open_magazine()).ceiling, 0);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(every_malloc_is_counted_and_what_waits_is_not_live)
{
    struct cia_totals before, after;

    open_magazine();
    before = cia_totals_read();
    allocate_many();
    after = cia_totals_read();
    ck_assert_uint_eq(after.allocations - before.allocations, MANY);
    ck_assert_uint_eq(after.live_blocks - before.live_blocks, MANY);
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    after = cia_totals_read();
    ck_assert_uint_eq(after.live_blocks, before.live_blocks);
    ck_assert_uint_eq(after.allocations - before.allocations, MANY);
}
END_TEST

/* Blocks from the place on by set, and in how many sets there are any. */
static uint32_t sets_of(char *const *place, uint32_t count, uint32_t in_set[COLOURS_LEAST])
{
    uint32_t sets = 0;

    memset(in_set, 0, COLOURS_LEAST * sizeof *in_set);
    for (uint32_t i = 0; i < count; i++)
        sets += in_set[set_of(place[i])]++ == 0;
    return sets;
}

static uint32_t most_in_a_set(const uint32_t in_set[COLOURS_LEAST])
{
    uint32_t most = 0;

    for (uint32_t set = 0; set < COLOURS_LEAST; set++)
        most = in_set[set] > most ? in_set[set] : most;
    return most;
}

/* The loaded and every full magazine have so many of each colour at most, a full one so many at
 * least. */
static void check_what_waits(struct magazine *magazine)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);
    char *const *stack = magazine->store->stack;
    uint32_t in_set[COLOURS_LEAST];
    uint32_t end = bounds.floor;

    ck_assert_uint_le(magazine_loaded_blocks(magazine), MAGAZINE_LOADED_MOST);
    sets_of(stack + end, magazine_loaded_blocks(magazine), in_set);
    ck_assert_uint_le(most_in_a_set(in_set), MAGAZINE_OF_A_COLOUR);
    for (uint32_t i = bounds.full; i-- > 0;) {
        uint32_t floor = (uint32_t)magazine->store->full_floor[i];

        ck_assert_uint_ge(end - floor, MAGAZINE_FULL_LEAST);
        ck_assert_uint_le(end - floor, MAGAZINE_LOADED_MOST);
        sets_of(stack + floor, end - floor, in_set);
        ck_assert_uint_le(most_in_a_set(in_set), MAGAZINE_OF_A_COLOUR);
        end = floor;
    }
    ck_assert_uint_eq(end, 0);
}

START_TEST(what_waits_is_even_whatever_was_freed)
{
    /* All in order; at random; one colour, then the rest; every second; those of few colours. */
    struct magazine *magazine = open_magazine();
    uint64_t seed = (uint64_t)_i + 1;
    uint32_t full_seen = 0;

    allocate_many();
    for (int i = MANY - 1; _i == 1 && i > 0; i--) {
        uint32_t other = random_below(&seed, (uint32_t)i + 1);
        void *block = blocks[i];

        blocks[i] = blocks[other];
        blocks[other] = block;
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            bool first = _i < 2 || (_i == 2 && set_of(blocks[i]) == 5) || (_i == 3 && i % 2 == 0) ||
                         (_i == 4 && set_of(blocks[i]) < MAGAZINE_FULL_LEAST / 2);

            if (first != (round == 0))
                continue;
            cia_free(blocks[i]);
            check_what_waits(magazine);
            if (round == 0 && _i == 2)
                ck_assert_uint_eq(magazine_bounds_of(magazine).full, 0);
            full_seen |= magazine_bounds_of(magazine).full;
        }
    }
    ck_assert_uint_ne(full_seen, 0);
    ck_assert_uint_eq(live_blocks(), 0);
    for (int i = 0; i < MANY; i++) {
        blocks[i] = cia_allocate(BYTES);
        check_what_waits(magazine);
    }
    free_many();
}
END_TEST

static void *of_set[COLOURS_LEAST][MANY];
static uint32_t left_in[COLOURS_LEAST];

/* Live blocks, by the set that they lie in. */
static void take_by_set(void)
{
    memset(left_in, 0, sizeof left_in);
    for (int i = 0; i < 2 * MANY; i++) {
        void *block = cia_allocate(BYTES);

        of_set[set_of(block)][left_in[set_of(block)]++] = block;
    }
}

static void free_one_of(uint32_t set)
{
    ck_assert_uint_gt(left_in[set], 0);
    cia_free(of_set[set][--left_in[set]]);
}

START_TEST(full_magazines_are_even_when_a_program_frees_half_of_the_colours_and_one_of_them_twice)
{
    static const uint32_t in_a_row[] = {64, 128, 192}; /* a magazine's first ceiling is 256 */

    open_magazine();
    take_by_set();
    cia_trim(); /* the magazine is empty */
    for (int full = 0; full < 15; full++) {
        for (uint32_t set = 0; set < COLOURS_LEAST / 2; set++)
            free_one_of(set);
        free_one_of(0);
    }
    for (uint32_t n = in_a_row[_i], i = 0; i < n; i++) {
        static uint32_t in_set[COLOURS_LEAST];

        ck_assert_uint_le(++in_set[set_of(cia_allocate(BYTES))],
                          8 * n / (3 * COLOURS_LEAST) + 2 * MAGAZINE_OF_A_COLOUR);
    }
}
END_TEST

START_TEST(a_loaded_magazine_stays_within_its_bounds_when_there_is_no_room_for_another)
{
    struct magazine *magazine = open_magazine();

    take_by_set();
    cia_trim();
    for (int full = 0; full < MAGAZINE_FULL_MOST; full++) {
        for (uint32_t set = 0; set < COLOURS_LEAST / 2; set++)
            free_one_of(set);
        free_one_of((uint32_t)full % (COLOURS_LEAST / 2));
    }
    for (int time = 0; time < 8; time++) {
        for (uint32_t set = 0; set < COLOURS_LEAST; set++) {
            free_one_of(set);
            check_what_waits(magazine);
        }
    }
    cia_trim();
    ck_assert_uint_eq(magazine_cached(magazine), 0);
}
END_TEST

START_TEST(the_longest_blocks_of_magazines_wait_in_small_numbers)
{
    struct magazine *magazine;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < MANY; i++)
        cia_free(cia_allocate(MAGAZINE_LARGEST));
    magazine = &heap_here()->magazines->own->of_class[CACHED_EXCLUSIVE_CLASSES - 1];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 300; i++)
            blocks[i] = cia_allocate(MAGAZINE_LARGEST);
        for (int i = 0; i < 300; i++) {
            cia_free(blocks[i]);
            check_what_waits(magazine);
            ck_assert_uint_le(magazine_cached(magazine) * MAGAZINE_LARGEST,
                              MAGAZINE_LOADS_OF_LONG * MAGAZINE_LOAD_BYTES);
        }
        ck_assert_uint_eq(magazine_bounds_of(magazine).full, 0);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

/* Whether the page with that place of the stack is populated. */
static bool place_has_its_page(const struct magazine *magazine, uint32_t place)
{
    uintptr_t page = (uintptr_t)&magazine->store->stack[place] & ~(uintptr_t)(PAGE_BYTES - 1);
    unsigned char state;

    ck_assert_int_eq(mincore((void *)page, PAGE_BYTES, &state), 0);
    return (state & 1) != 0;
}

START_TEST(a_stack_has_its_pages_as_far_as_it_may_be_filled_and_no_others)
{
    struct magazine *magazine = open_magazine();
    uint32_t first = magazine_bounds_of(magazine).ceiling, most = first;

    ck_assert(!place_has_its_page(
        magazine, MAGAZINE_STACK_BYTES / (uint32_t)size_class_bytes(SIZE_CLASS) - 1));
    for (int round = 0; round < 20; round++) {
        allocate_many(); /* it may hold more from now on; nothing waits there yet */
        uint32_t ceiling = magazine_bounds_of(magazine).ceiling;
        for (uint32_t place = 0; place < ceiling; place++)
            ck_assert_msg(place_has_its_page(magazine, place), "place %u of %u", place, ceiling);
        most = ceiling > most ? ceiling : most;
        free_many();
    }
    ck_assert_uint_gt(most, first);
}
END_TEST

/* The worst that a program can do to those that come after: free one colour only. */
START_TEST(blocks_of_one_colour_do_not_follow_each_other)
{
    uint32_t in_set[COLOURS_LEAST] = {0};

    open_magazine();
    allocate_many();
    uint32_t colour = set_of(blocks[0]), freed = 0;
    for (int i = 0; i < MANY && freed < 2 * MAGAZINE_COLOURS; i++) {
        if (set_of(blocks[i]) == colour) {
            cia_free(blocks[i]);
            blocks[i] = NULL;
            freed++;
        }
    }
    ck_assert_uint_ge(freed, MANY / COLOURS_LEAST);
    /* As many as of any colour are live, after these: the class heap wants no more of one colour
       than what brings it back to its share. */
    for (int i = 0; i < MANY; i++) {
        if (blocks[i] == NULL)
            blocks[i] = cia_allocate(BYTES);
        in_set[set_of(blocks[i])]++;
    }
    for (uint32_t set = 0; set < COLOURS_LEAST; set++)
        ck_assert_uint_le(in_set[set], MANY / COLOURS_LEAST + 3);
}
END_TEST

START_TEST(what_another_cpu_freed_leaves_the_next_blocks_even)
{
    enum { HERE = 20000, STEPS_OF_CHURN = 200, IN_A_ROW = 512 };
    static void *here[HERE];
    uint64_t seed = 5;
    uint32_t in_set[COLOURS_LEAST] = {0};

    have_another_thread();
    for (uint32_t step = 0; step <= STEPS_OF_CHURN; step++) {
        uint32_t victims[500];

        stay_on_cpu(0);
        for (int i = 0; i < HERE; i++) {
            if (here[i] == NULL)
                here[i] = cia_allocate(BYTES);
        }
        for (int i = 0; i < 500; i++)
            victims[i] = random_below(&seed, HERE);
        stay_on_cpu(1);
        for (uint32_t i = 0; i < (step < STEPS_OF_CHURN ? 500 : HERE); i++) {
            void **victim = &here[step < STEPS_OF_CHURN ? victims[i] : i];

            if (*victim != NULL)
                cia_free(*victim);
            *victim = NULL;
        }
    }
    stay_on_cpu(0);
    for (int i = 0; i < IN_A_ROW; i++)
        in_set[set_of(cia_allocate(BYTES))]++;
    for (uint32_t set = 0; set < COLOURS_LEAST; set++)
        ck_assert_uint_le(in_set[set], 2 * IN_A_ROW / COLOURS_LEAST);
}
END_TEST

START_TEST(a_block_that_was_freed_lately_is_not_freed_twice)
{
    open_magazine();
    for (int i = 0; i < 20; i++)
        blocks[i] = cia_allocate(BYTES);
    for (int i = 0; i < 20; i++)
        cia_free(blocks[i]);
    cia_free(blocks[14]);
}
END_TEST

START_TEST(a_block_freed_twice_is_noticed_however_many_of_other_colours_were_freed_between)
{
    open_magazine();
    allocate_many();
    cia_trim();
    cia_free(blocks[0]);
    for (int i = 1, freed = 0; freed < 60; i++) {
        if (set_of(blocks[i]) != set_of(blocks[0])) {
            cia_free(blocks[i]);
            freed++;
        }
    }
    cia_free(blocks[0]);
}
END_TEST

/* As after a second free on another CPU, where nothing was known of the first. */
START_TEST(a_cached_block_whose_pages_are_of_another_class_is_noticed_where_it_is_flushed)
{
    static const size_t then[] = {0, 1000, 100000}; /* 0: the pages stay free */
    struct magazine *magazine = open_magazine();
    void *freed_twice;

    allocate_many();
    freed_twice = blocks[MANY / 2];
    free_many();
    cia_trim(); /* its run has gone back */
    ck_assert(magazine_push_exclusive(magazine, freed_twice));
    for (int i = 0; i < 100 && then[_i] != 0; i++)
        blocks[i] = cia_allocate(then[_i]);
    cia_trim();
}
END_TEST

/* As after a sequence that was interrupted before it committed. */
START_TEST(what_is_wrongly_said_to_have_been_freed_can_be_freed)
{
    struct magazine *magazine = open_magazine();
    void *block = cia_allocate(BYTES);

    magazine->store->colour[magazine_colour(block)] =
        magazine_low_address(block) | magazine->no_blocks;
    cia_free(block);
    ck_assert_uint_eq(magazine_cached(magazine), 1);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

static void set_counts(struct magazine *magazine, uint32_t count)
{
    for (int colour = 0; colour < MAGAZINE_COLOURS; colour++)
        magazine->store->colour[colour] = count;
}

START_TEST(a_magazine_that_is_empty_except_for_its_counts_takes_blocks)
{
    struct magazine *magazine = open_magazine();

    for (int i = 0; i < 10; i++)
        blocks[i] = cia_allocate(BYTES);
    cia_trim();
    set_counts(magazine, MAGAZINE_COUNT_FULL);
    for (uint32_t i = 0; i < 10; i++) {
        cia_free(blocks[i]);
        ck_assert_uint_eq(magazine_cached(magazine), i + 1);
    }
}
END_TEST

/* They may come back from another CPU: to search for each of them would take long. */
START_TEST(of_blocks_that_went_home_none_is_said_to_wait)
{
    struct magazine *magazine = open_magazine();

    for (int i = 0; i < 500; i++)
        blocks[i] = cia_allocate(BYTES);
    for (int i = 0; i < 500; i++)
        cia_free(blocks[i]);
    cia_trim();
    for (int colour = 0; colour < MAGAZINE_COLOURS; colour++)
        ck_assert_uint_eq(magazine->store->colour[colour], magazine->no_blocks);
}
END_TEST

START_TEST(a_wrong_count_of_a_colour_costs_places_and_loses_nothing)
{
    struct magazine *magazine = open_magazine();
    const uint32_t wrong[] = {magazine->no_blocks - 1, magazine->no_blocks + 1, MAGAZINE_COUNT_FULL,
                              MAGAZINE_COUNT_MASK, 0};

    allocate_many();
    set_counts(magazine, wrong[_i]);
    free_many();
    allocate_many();
    check_what_waits(magazine);
    free_many();
}
END_TEST

START_TEST(fresh_blocks_come_in_the_order_of_their_addresses)
{
    open_magazine();
    for (int i = 0; i < 300; i++)
        blocks[i] = cia_allocate(BYTES);
    int ascending = 0;
    for (int i = 1; i < 300; i++)
        ascending += (char *)blocks[i] > (char *)blocks[i - 1];
    ck_assert_int_ge(ascending, 290); /* but from the last of a span to the first of another */
}
END_TEST

static void *free_all_blocks(void *unused)
{
    stay_on_cpu(1);
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    return unused;
}

/* On a CPU where nobody has allocated, too. */
START_TEST(a_thread_that_only_frees_has_magazines_and_hoards_little)
{
    pthread_t thread;

    stay_on_cpu(0);
    allocate_many();
    ck_assert_int_eq(pthread_create(&thread, NULL, free_all_blocks, NULL), 0);
    pthread_join(thread, NULL);
    stay_on_cpu(1);
    /* But not many: nobody asks for blocks there. */
    ck_assert_uint_gt(magazine_cached(magazine_of_class()), MAGAZINE_COLOURS);
    ck_assert_uint_le(magazine_cached(magazine_of_class()),
                      MAGAZINE_FIRST_CEILING + MAGAZINE_COLOURS);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(memory_that_was_used_is_zeroed_for_calloc_and_fresh_memory_is_zero)
{
    open_magazine();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            unsigned char *block = blocks[i] = cia_allocate_zeroed(BYTES);

            for (int at = 0; at < BYTES; at++)
                ck_assert(block[at] == 0);
            memset(block, 0xa5, BYTES);
        }
        for (int i = 0; i < MANY; i++)
            cia_free(blocks[i]);
    }
}
END_TEST

/* Threads that move between CPUs, take blocks, pass them on and check that they have them alone,
   while another empties all magazines, or each CPU's, again and again. */
enum { STEPS = 150000, SLOTS = 512 };
static _Atomic(uint64_t *) slots[SLOTS];
static atomic_uint corrupted, running;

static void *move_and_exchange(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    uint64_t mine = seed << 32;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    for (uint32_t step = 0; step < STEPS; step++) {
        uint64_t *block = cia_allocate(64 + random_below(&seed, 4) * 64);

        if (block == NULL) {
            atomic_fetch_add(&corrupted, 1);
            break;
        }
        block[0] = block[7] = mine | step;
        block = atomic_exchange(&slots[random_below(&seed, SLOTS)], block);
        if (block != NULL) {
            if (block[0] != block[7])
                atomic_fetch_add(&corrupted, 1);
            cia_free(block);
        }
        if (step % 1024 == 0)
            stay_on_cpu((int)random_below(&seed, (uint32_t)cpus));
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

START_TEST(magazines_that_are_taken_away_again_and_again_lose_nothing)
{
    pthread_t threads[EXCHANGERS];

    atomic_store(&running, EXCHANGERS);
    start_exchangers(threads, move_and_exchange);
    for (uint64_t now = decay_clock(); atomic_load(&running) > 0; now += 60000) {
        for (int cpu = 0; _i == 1 && cpu < CPU_HEAPS; cpu++) {
            if (heap_table[cpu] != NULL)
                (void)flush_if_due(heap_table[cpu], now);
        }
        if (_i == 0)
            cia_trim();
    }
    join_exchangers(threads);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i] != NULL)
            cia_free(slots[i]);
    }
    ck_assert_uint_eq(corrupted, 0);
    ck_assert_uint_eq(live_blocks(), 0);
    cia_trim();
    ck_assert_uint_eq(cia_totals_read().run_bytes, 0);
}
END_TEST

START_TEST(while_one_cpus_magazines_are_taken_away_another_cpu_has_its_own)
{
    have_another_thread();
    for (int cpu = 0; cpu < 2; cpu++) {
        stay_on_cpu(cpu);
        open_magazine();
    }
    if (!magazines_use_sequences() || !magazines_revoke(0))
        return;
    ck_assert(magazines_are_revoked(0) && !magazines_are_revoked(1));
    cia_free(cia_allocate(BYTES));
    ck_assert(magazines_of(0)->revoked && !magazines_of(1)->revoked);
    magazines_restore();
    ck_assert(!magazines_are_revoked(0) && !magazines_are_revoked(1));
}
END_TEST

START_TEST(a_kernel_that_knows_no_single_cpu_takes_its_magazines_away_too)
{
    have_another_thread();
    stay_on_cpu(0);
    open_magazine();
    if (!magazines_use_sequences() || !take_flags_of_membarrier_away())
        return;
    ck_assert(magazines_revoke(0));
    ck_assert(magazines_are_revoked(0));
    magazines_restore();
}
END_TEST

/* Every block that the child takes must be one that no thread of the parent had at the fork; the
   parent's threads write to theirs before and after, so a shared page would show as well. */
START_TEST(the_child_of_a_fork_uses_the_magazines_that_it_finds)
{
    pthread_t threads[EXCHANGERS];
    unsigned failed = 0;

    atomic_store(&running, EXCHANGERS);
    start_exchangers(threads, move_and_exchange);
    for (int round = 0; round < 60 && atomic_load(&running) > 0; round++) {
        pid_t child = fork();

        if (child == 0) {
            uint64_t *taken[400];
            unsigned wrong = 0;

            alarm(20);
            for (uint64_t i = 0; i < 400; i++) {
                taken[i] = cia_allocate(64);
                taken[i][0] = taken[i][7] = i;
            }
            for (uint64_t i = 0; i < 400; i++)
                wrong += taken[i][0] != i || taken[i][7] != i;
            for (int i = 0; i < SLOTS; i++) /* what the parent's threads had passed on */
                wrong += slots[i] != NULL && slots[i][0] != slots[i][7];
            for (uint64_t i = 0; i < 400; i++)
                cia_free(taken[i]);
            cia_trim();
            _exit(wrong == 0 ? 0 : 1);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    join_exchangers(threads);
    ck_assert_uint_eq(failed, 0);
    ck_assert_uint_eq(corrupted, 0);
}
END_TEST

/* As the child finds it where another thread, or one below a signal handler, was opening it. */
START_TEST(a_magazine_that_was_half_open_at_a_fork_is_opened_whole)
{
    struct magazine *magazine = open_magazine();

    magazine_set_word(&magazine->bounds, 0);
    magazine->load = 0;
    magazine->no_blocks = 0;
    ck_assert(magazine_open(heap_here()->magazines, SIZE_CLASS));
    ck_assert_uint_gt(magazine->load, 1);
    ck_assert_uint_gt(magazine->no_blocks, 0);
}
END_TEST

START_TEST(a_trim_empties_the_magazines)
{
    struct magazine *magazine = open_magazine();

    allocate_many();
    for (int i = 0; i < MANY; i++)
        cia_free(blocks[i]);
    ck_assert_uint_gt(magazine_cached(magazine), MAGAZINE_COLOURS);
    cia_trim();
    ck_assert_uint_eq(magazine_cached(magazine), 0);
}
END_TEST

START_TEST(one_thread_takes_magazines_away_where_membarrier_kills)
{
    struct magazine *magazine = open_magazine();

    allocate_many();
    free_many();
    if (!take_membarrier_away(true))
        return;
    cia_trim();
    ck_assert_uint_eq(magazine_cached(magazine), 0);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
START_TEST(when_memory_runs_out_one_cpu_gets_what_is_free_on_another)
{
    static const size_t lengths[] = {2000, 20000, 300000}; /* in a magazine, in spans, alone */
    enum { LIMIT_BYTES = 128 << 20, AGAIN = 12 };
    static void *taken[LIMIT_BYTES / 2000];
    struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    size_t bytes = lengths[_i];
    uint32_t count = 0, had = 0;

    have_another_thread();
    for (int cpu = 0; cpu < 2; cpu++) {
        stay_on_cpu(cpu);
        for (int i = 0; i < MANY; i++)
            cia_free(cia_allocate(bytes));
    }
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    while ((taken[count] = cia_allocate(bytes)) != NULL)
        count++;
    stay_on_cpu(0); /* what is left there */
    while (cia_allocate(bytes) != NULL)
        ;
    stay_on_cpu(1);
    for (uint32_t i = 0; i < AGAIN; i++) /* far from each other: no chunk becomes free */
        cia_free(taken[(i + 1) * (count / (AGAIN + 2))]);
    stay_on_cpu(0);
    while (cia_allocate(bytes) != NULL)
        had++;
    ck_assert_uint_ge(had, AGAIN);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("cia magazines");
    TCase *tests = tcase_create("magazines");

    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, a_class_has_no_magazine_until_it_is_in_heavy_use);
    tcase_add_test(tests, every_malloc_is_counted_and_what_waits_is_not_live);
    tcase_add_loop_test(tests, what_waits_is_even_whatever_was_freed, 0, 5);
    tcase_add_loop_test(
        tests,
        full_magazines_are_even_when_a_program_frees_half_of_the_colours_and_one_of_them_twice, 0,
        3);
    tcase_add_test(tests,
                   a_loaded_magazine_stays_within_its_bounds_when_there_is_no_room_for_another);
    tcase_add_test(tests, the_longest_blocks_of_magazines_wait_in_small_numbers);
    tcase_add_test(tests, a_stack_has_its_pages_as_far_as_it_may_be_filled_and_no_others);
    tcase_add_test(tests, blocks_of_one_colour_do_not_follow_each_other);
    tcase_add_test(tests, what_another_cpu_freed_leaves_the_next_blocks_even);
    tcase_add_test_raise_signal(tests, a_block_that_was_freed_lately_is_not_freed_twice, SIGABRT);
    tcase_add_test_raise_signal(
        tests, a_block_freed_twice_is_noticed_however_many_of_other_colours_were_freed_between,
        SIGABRT);
    tcase_add_loop_test_raise_signal(
        tests, a_cached_block_whose_pages_are_of_another_class_is_noticed_where_it_is_flushed,
        SIGABRT, 0, 3);
    tcase_add_test(tests, what_is_wrongly_said_to_have_been_freed_can_be_freed);
    tcase_add_test(tests, a_magazine_that_is_empty_except_for_its_counts_takes_blocks);
    tcase_add_test(tests, of_blocks_that_went_home_none_is_said_to_wait);
    tcase_add_loop_test(tests, a_wrong_count_of_a_colour_costs_places_and_loses_nothing, 0, 5);
    tcase_add_test(tests, fresh_blocks_come_in_the_order_of_their_addresses);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        tcase_add_test(tests, a_thread_that_only_frees_has_magazines_and_hoards_little);
    tcase_add_test(tests, memory_that_was_used_is_zeroed_for_calloc_and_fresh_memory_is_zero);
    tcase_add_loop_test(tests, magazines_that_are_taken_away_again_and_again_lose_nothing, 0, 2);
    tcase_add_test(tests, a_kernel_that_knows_no_single_cpu_takes_its_magazines_away_too);
    tcase_add_test(tests, while_one_cpus_magazines_are_taken_away_another_cpu_has_its_own);
    tcase_add_test(tests, the_child_of_a_fork_uses_the_magazines_that_it_finds);
    tcase_add_test(tests, a_magazine_that_was_half_open_at_a_fork_is_opened_whole);
    tcase_add_test(tests, a_trim_empties_the_magazines);
    tcase_add_test(tests, one_thread_takes_magazines_away_where_membarrier_kills);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_loop_test(tests, when_memory_runs_out_one_cpu_gets_what_is_free_on_another, 0, 3);
#endif
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
