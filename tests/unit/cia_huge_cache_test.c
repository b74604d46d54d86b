/*
 * SPDX-License-Identifier: MIT
 *
 * Mappings of long blocks are kept for other blocks, within bounds and for a time; whatever was in
 * them, a block from one behaves as one from a fresh mapping.
 */
#include "base/random.h"
#include "cia_malloc/cpu_cache/fork.h"
#include "cia_malloc/large/huge_cache.h"
#include "cia_malloc/large/large.h"
#include "cia_malloc/pages/decay_policy.h"

#include "cia_clock.h"
#include "cia_fixture.h"
#include "run_suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static char *const addresses = (char *)((uintptr_t)1 << 40); /* never touched */

static struct huge *kept(struct huge *huge, size_t base, size_t bytes, uint64_t since)
{
    *huge = (struct huge){.base = addresses + base, .extent = bytes, .since = since};
    ck_assert(huge_cache_put(huge));
    return huge;
}

START_TEST(the_shortest_mapping_that_is_long_enough_is_chosen)
{
    struct huge huge[4];

    kept(&huge[0], 0, 40 * MIB, 0);
    kept(&huge[1], 100 * MIB, 12 * MIB, 0);
    kept(&huge[2], 200 * MIB, 8 * MIB, 0);
    kept(&huge[3], 300 * MIB, 20 * MIB, 0);
    ck_assert_ptr_eq(huge_cache_take(10 * MIB, PAGE_BYTES, 0), &huge[1]);
    ck_assert_ptr_eq(huge_cache_take(10 * MIB, PAGE_BYTES, 0), &huge[3]);
    ck_assert_ptr_eq(huge_cache_take(10 * MIB, PAGE_BYTES, 0), &huge[0]);
    ck_assert_ptr_null(huge_cache_take(10 * MIB, PAGE_BYTES, 0));
    ck_assert_ptr_eq(huge_cache_take(8 * MIB, PAGE_BYTES, 0), &huge[2]);
}
END_TEST

START_TEST(a_mapping_serves_an_alignment_if_it_has_room_for_it)
{
    struct huge huge[2];

    kept(&huge[0], MIB, 8 * MIB, 0);
    kept(&huge[1], 64 * MIB, 9 * MIB, 0);
    ck_assert_ptr_eq(huge_cache_take(8 * MIB, 4 * MIB, 0), &huge[1]);
    ck_assert_ptr_null(huge_cache_take(8 * MIB, 4 * MIB, 0));
    ck_assert_ptr_eq(huge_cache_take(5 * MIB, 4 * MIB, 0), &huge[0]);
}
END_TEST

START_TEST(a_mapping_is_found_by_its_neighbours)
{
    struct huge between = {.base = addresses + 8 * MIB, .extent = 4 * MIB}, apart;

    kept(huge_record_take(), 0, 8 * MIB, 0);
    kept(huge_record_take(), 12 * MIB, 4 * MIB, 0);
    kept(&apart, 20 * MIB, 4 * MIB, 0);
    huge_join_neighbours(&between);
    ck_assert_ptr_eq(between.base, addresses);
    ck_assert_uint_eq(between.extent, 16 * MIB);
    ck_assert_ptr_eq(huge_cache_take_oldest(UINT64_MAX), &apart);
    ck_assert_ptr_null(huge_cache_take_oldest(UINT64_MAX));
}
END_TEST

START_TEST(a_mapping_serves_its_own_memory_node_only)
{
    struct huge huge = {.base = addresses, .extent = 8 * MIB, .node = 1};
    struct huge beside = {.base = addresses + 8 * MIB, .extent = 8 * MIB, .node = 0};

    ck_assert(huge_cache_put(&huge));
    ck_assert_ptr_null(huge_cache_take(8 * MIB, PAGE_BYTES, 0));
    huge_join_neighbours(&beside);
    ck_assert_uint_eq(beside.extent, 8 * MIB);
    ck_assert_ptr_eq(huge_cache_take(8 * MIB, PAGE_BYTES, 1), &huge);
}
END_TEST

START_TEST(the_one_kept_for_longest_goes_first_and_none_before_its_time)
{
    struct huge huge[3];

    kept(&huge[0], 0, 4 * MIB, 30);
    kept(&huge[1], 100 * MIB, 4 * MIB, 10);
    kept(&huge[2], 200 * MIB, 4 * MIB, 20);
    ck_assert_ptr_null(huge_cache_take_oldest(9));
    ck_assert_ptr_eq(huge_cache_take_oldest(25), &huge[1]);
    ck_assert_ptr_eq(huge_cache_take_oldest(25), &huge[2]);
    ck_assert_ptr_null(huge_cache_take_oldest(25));
    ck_assert_uint_eq(huge_cache_bytes(), 4 * MIB);
}
END_TEST

START_TEST(what_has_no_slot_is_refused)
{
    static struct huge huge[HUGE_CACHE_SLOTS + 1];

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++)
        kept(&huge[i], i * (size_t)(8 * MIB), 4 * MIB, i);
    ck_assert(!huge_cache_put(&huge[HUGE_CACHE_SLOTS]));
    ck_assert_ptr_eq(huge_cache_take_oldest(UINT64_MAX), &huge[0]);
    ck_assert(huge_cache_put(&huge[HUGE_CACHE_SLOTS]));
}
END_TEST

START_TEST(mappings_side_by_side_are_as_old_as_their_pages_on_the_average)
{
    struct huge *older = huge_record_take(), *newer = huge_record_take();

    *older = (struct huge){.base = addresses, .extent = 4 * MIB};
    *newer = (struct huge){.base = addresses + 4 * MIB, .extent = 12 * MIB, .since = 5000};
    ck_assert(huge_cache_put(newer)); /* by another thread, which came later and was faster */
    older->since = 1000;
    huge_join_neighbours(older);
    ck_assert_uint_eq(older->extent, 16 * MIB);
    ck_assert_uint_eq(older->since, 4000);
}
END_TEST

static void *put_and_take(void *argument)
{
    static struct huge huge[EXCHANGERS + 1];
    struct huge *mine = &huge[(uintptr_t)argument];

    mine->base = addresses + (uintptr_t)argument * 100 * MIB;
    for (int i = 0; i < 200000; i++) {
        mine->extent = (uintptr_t)argument * MIB;
        while (!huge_cache_put(mine))
            ;
        while ((mine = huge_cache_take(MIB, PAGE_BYTES, 0)) == NULL)
            ;
        mine->base = addresses + (size_t)(mine - huge) * 100 * MIB;
        argument = (void *)(mine - huge);
    }
    ck_assert(huge_cache_put(mine));
    return NULL;
}

START_TEST(what_is_said_of_a_slot_is_true_of_the_mapping_that_is_in_it)
{
    pthread_t threads[EXCHANGERS];
    size_t bytes = 0;
    struct huge *huge;

    start_exchangers(threads, put_and_take);
    join_exchangers(threads);
    size_t said = huge_cache_bytes();
    while ((huge = huge_cache_take_oldest(UINT64_MAX)) != NULL)
        bytes += huge->extent;
    ck_assert_uint_eq(said, bytes);
}
END_TEST

/* Programs may do so with memory that is theirs; the next block must not pay for it. */
START_TEST(a_block_from_a_mapping_of_which_the_program_closed_a_part_can_be_written)
{
    stay_on_cpu(sched_getcpu());
    char *block = cia_allocate(4 * MIB);
    char *page = block + (-(uintptr_t)block & (PAGE_BYTES - 1)) + MIB;

    ck_assert_int_eq(mprotect(page, MIB, PROT_NONE), 0);
    cia_free(block);
    block = cia_allocate(4 * MIB);
    memset(block, 1, 4 * MIB);
    cia_free(block);
}
END_TEST

static size_t mapped_bytes(void)
{
    return page_source_mapped_bytes;
}

START_TEST(blocks_that_come_and_go_map_nothing_new)
{
    stay_on_cpu(sched_getcpu());
    for (size_t bytes = 600000; bytes < 30 * MIB; bytes *= 3) {
        cia_free(memset(cia_allocate(bytes), 1, bytes));
        size_t mapped = mapped_bytes();

        for (int i = 0; i < 50; i++) {
            char *block = cia_allocate(bytes);

            /* The same pages, not new ones; the kernel may have moved them, to make the mapping
               longer for another colour. */
            ck_assert_int_eq(block[bytes / 2], 1);
            ck_assert_uint_le(mapped_bytes(), mapped + CHUNK_BYTES);
            cia_free(block);
        }
        cia_trim();
    }
}
END_TEST

START_TEST(a_kept_mapping_serves_several_blocks_and_is_one_again_after_them)
{
    stay_on_cpu(sched_getcpu());
    cia_free(memset(cia_allocate(29 * MIB), 1, 29 * MIB));
    size_t mapped = mapped_bytes(), kept = huge_cache_bytes();
    ck_assert_uint_ge(kept, 29 * MIB);
    for (int round = 0; round < 10; round++) {
        void *parts[3];

        for (int i = 0; i < 3; i++)
            parts[i] = cia_allocate((7 + i) * MIB);
        for (int i = 0; i < 3; i++)
            cia_free(parts[(i + round) % 3]);
        /* A colour may take a page more than the one before. */
        ck_assert_uint_ge(huge_cache_bytes(), kept);
        cia_free(cia_allocate(29 * MIB));
        ck_assert_uint_le(huge_cache_bytes(), kept + MIB);
        ck_assert_uint_le(mapped_bytes(), mapped + CHUNK_BYTES);
    }
}
END_TEST

START_TEST(the_bytes_of_blocks_are_the_pages_that_they_are_on)
{
    enum { BLOCKS = 64, BYTES = 600000 };
    void *blocks[BLOCKS];

    for (int round = 0; round < 2; round++) { /* in fresh mappings and in kept ones */
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = cia_allocate(BYTES);
        ck_assert_uint_ge(huge_totals.bytes, BLOCKS * BYTES);
        ck_assert_uint_le(huge_totals.bytes, BLOCKS * (BYTES + 2 * PAGE_BYTES));
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = cia_reallocate(blocks[i], BYTES + MIB);
        ck_assert_uint_ge(huge_totals.bytes, BLOCKS * (BYTES + MIB));
        for (int i = 0; i < BLOCKS; i++)
            cia_free(blocks[i]);
        ck_assert_uint_eq(huge_totals.bytes, 0);
    }
}
END_TEST

START_TEST(what_an_aligned_block_leaves_of_a_kept_mapping_serves_others)
{
    enum { BLOCKS = 20, BYTES = 600000 };
    static const size_t alignments[] = {MIB / 4, 2 * MIB, 32 * MIB};
    void *blocks[BLOCKS];

    stay_on_cpu(sched_getcpu());
    make_first_call();
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        size_t mapped = mapped_bytes() - huge_cache_bytes();

        for (int j = 0; j < BLOCKS; j++) {
            cia_free(memset(cia_allocate(60 * MIB), 1, MIB));
            blocks[j] = cia_allocate_aligned(alignments[i], BYTES);
            ck_assert_uint_eq((uintptr_t)blocks[j] % alignments[i], 0);
        }
        /* Up to half a MiB before each may be too short for another block; and leaves of the page
           map. */
        ck_assert_uint_le(mapped_bytes() - huge_cache_bytes() - mapped,
                          BLOCKS * (BYTES + MIB / 2) + 8 * MIB);
        ck_assert_uint_le(huge_totals.bytes, BLOCKS * (BYTES + 2 * PAGE_BYTES));
        for (int j = 0; j < BLOCKS; j++)
            cia_free(blocks[j]);
    }
}
END_TEST

START_TEST(an_array_that_doubles_leaves_its_mapping_to_the_next_block)
{
    enum { FIRST = 1 * MIB, LAST = 4 * MIB };

    stay_on_cpu(sched_getcpu());
    make_first_call();
    char *array = memset(cia_allocate(FIRST), 7, FIRST);
    for (size_t bytes = FIRST; bytes < LAST; bytes *= 2) {
        uintptr_t old = (uintptr_t)array;

        ck_assert_ptr_nonnull(array = cia_reallocate(array, 2 * bytes));
        for (size_t i = 0; i < bytes; i += 100)
            ck_assert_int_eq(array[i], 7);
        memset(array, 7, 2 * bytes);
        char *next = cia_allocate(bytes / 4 * 3);
        ck_assert_uint_lt((uintptr_t)next - old + MIB, 2 * MIB);
        cia_free(next);
    }
    cia_free(array);
}
END_TEST

/* So long that they are of no class that asks for huge pages, which are fresh. */
enum { SHORT = 20000, SHORTS = 1200 };
static unsigned char *shorts[SHORTS];

static bool is_filled(const unsigned char *block, int byte)
{
    return block[0] == byte && memcmp(block, block + 1, SHORT - 1) == 0;
}

static void allocate_shorts(void)
{
    for (int i = 0; i < SHORTS; i++) {
        ck_assert_ptr_nonnull(shorts[i] = cia_allocate_zeroed(SHORT));
        ck_assert(is_filled(shorts[i], 0));
        memset(shorts[i], i % 255 + 1, SHORT);
    }
}

START_TEST(short_blocks_take_the_pages_that_long_ones_left)
{
    enum { LONG = 30 * MIB };

    stay_on_cpu(sched_getcpu());
    make_first_call();
    cia_free(memset(cia_allocate(LONG), 0xff, LONG));
    size_t mapped = page_source_mapped_bytes, kept = huge_cache_bytes();
    allocate_shorts();
    /* No more is mapped than what says what is in the chunks. */
    ck_assert_uint_le(page_source_mapped_bytes - mapped, 10 * MIB);
    ck_assert_uint_le(huge_cache_bytes(), kept - 20 * MIB);
    for (int i = 0; i < SHORTS; i++)
        cia_free(shorts[i]);
    cia_trim();
    ck_assert_uint_le(page_source_mapped_bytes, mapped - kept + 10 * MIB);
}
END_TEST

static unsigned long locked_kib(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "VmLck: %lu", &kib);
    fclose(file);
    return kib;
}

START_TEST(what_a_program_asked_for_a_long_block_does_not_hold_for_short_ones_there)
{
    enum { LONG = 30 * MIB };
    char *block = memset(cia_allocate(LONG), 0xff, LONG);
    char *page = block + (-(uintptr_t)block & (PAGE_BYTES - 1));
    int status;

    stay_on_cpu(sched_getcpu());
    ck_assert_int_eq(madvise(page, LONG / 2, MADV_WIPEONFORK), 0);
    ck_assert_int_eq(madvise(page + LONG / 2, LONG / 2 - PAGE_BYTES, MADV_DONTFORK), 0);
    cia_free(block);
    allocate_shorts();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < SHORTS; i++) {
            if (!is_filled(shorts[i], i % 255 + 1))
                _exit(1);
        }
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < SHORTS; i++)
        cia_free(shorts[i]);
}
END_TEST

START_TEST(short_blocks_are_not_in_a_long_one_that_was_freed_while_it_was_locked)
{
    enum { LONG = 30 * MIB };
    char *block = memset(cia_allocate(LONG), 0xff, LONG);

    stay_on_cpu(sched_getcpu());
    bool is_locked = mlock(block, LONG) == 0; /* else a limit does not allow it */
    cia_free(block);
    allocate_shorts();
    clock_milliseconds += 10000;
    huge_give_back_old(clock_milliseconds);
    if (is_locked)
        ck_assert_uint_eq(locked_kib(), 0);
    for (int i = 0; i < SHORTS; i++)
        cia_free(shorts[i]);
}
END_TEST

START_TEST(blocks_from_kept_mappings_take_the_colours_in_turn)
{
    enum { LENGTHS = 3 };
    static const size_t lengths[LENGTHS] = {700000, 5000000, 9 * MIB};

    stay_on_cpu(sched_getcpu());
    for (int n = 0; n < LENGTHS; n++) {
        uint32_t in_set[64] = {0};

        for (int i = 0; i < 128; i++) {
            char *block = cia_allocate(lengths[n]);

            in_set[(uintptr_t)block / LINE_BYTES % 64]++;
            cia_free(block);
        }
        for (int set = 0; set < 64; set++)
            ck_assert_uint_eq(in_set[set], 2);
    }
}
END_TEST

START_TEST(calloc_reads_as_zero_whatever_was_in_the_mapping)
{
    uint64_t seed = 5;

    for (int round = 0; round < 100; round++) {
        size_t bytes = 600000 + random_below(&seed, 12 * MIB);
        unsigned char *dirty = cia_allocate(bytes);

        memset(dirty, 0xff, cia_usable(dirty));
        cia_free(dirty);
        bytes = bytes / 2 + random_below(&seed, (uint32_t)bytes); /* cut, or new */
        unsigned char *block = cia_allocate_zeroed(bytes);
        size_t not_zero = block[bytes - 1] != 0;
        for (size_t i = 0; i < bytes; i += 61)
            not_zero += block[i] != 0;
        ck_assert_uint_eq(not_zero, 0);
        cia_free(block);
    }
}
END_TEST

START_TEST(no_more_is_kept_than_the_bound)
{
    enum { COUNT = 40 };
    void *blocks[COUNT];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            blocks[i] = cia_allocate(9 * MIB);
        for (int i = 0; i < COUNT; i++) {
            cia_free(blocks[i]);
            size_t in_use = cia_totals_read().huge_bytes;
            ck_assert_uint_le(huge_cache_bytes(), in_use > 32 * MIB ? in_use : 32 * MIB);
        }
        ck_assert_uint_gt(huge_cache_bytes(), 20 * MIB); /* nothing kept would pass as well */
    }
    cia_free(cia_allocate((size_t)3 << 30)); /* beyond any bound */
    ck_assert_uint_le(huge_cache_bytes(), 32 * MIB);
}
END_TEST

START_TEST(a_kept_mapping_goes_back_after_the_decay_time)
{
    stay_on_cpu(sched_getcpu()); /* a sub-heap of another would be mapped beside */
    size_t before = mapped_bytes();

    cia_free(cia_allocate(20 * MIB));
    clock_milliseconds += DECAY_DEFAULT - 1;
    cia_free(cia_allocate(100000)); /* a look */
    ck_assert_uint_ge(huge_cache_bytes(), 20 * MIB);
    clock_milliseconds += 2;
    huge_give_back_old(clock_milliseconds);
    ck_assert_uint_eq(huge_cache_bytes(), 0);
    ck_assert_uint_lt(mapped_bytes(),
                      before + 9 * MIB); /* the first chunk and what belongs to it */
}
END_TEST

START_TEST(with_a_decay_time_of_0_nothing_is_kept)
{
    stay_on_cpu(sched_getcpu()); /* a sub-heap of another would be mapped beside */
    setenv("CIA_DECAY_MS", "0", 1);
    cia_free(cia_allocate(1));
    size_t before = mapped_bytes();
    cia_free(cia_allocate(20 * MIB));
    ck_assert_uint_eq(huge_cache_bytes(), 0);
    ck_assert_uint_lt(mapped_bytes(), before + 4 * MIB); /* perhaps a leaf of the page map */
}
END_TEST

START_TEST(trim_gives_all_kept_mappings_back_at_once)
{
    stay_on_cpu(sched_getcpu());      /* a sub-heap of another would be mapped beside */
    cia_free(cia_allocate(20 * MIB)); /* and a leaf of the page map for its addresses */
    cia_trim();
    size_t before = mapped_bytes();
    cia_free(cia_allocate(20 * MIB));
    cia_free(cia_allocate(30 * MIB));
    ck_assert_uint_gt(huge_cache_bytes(), 29 * MIB);
    ck_assert(cia_trim());
    ck_assert_uint_eq(huge_cache_bytes(), 0);
    ck_assert_uint_lt(mapped_bytes(), before + CHUNK_BYTES);
}
END_TEST

/* A sanitizer needs more address space than a limit would leave, and does not follow mremap. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void limit_address_space(size_t more)
{
    unsigned long total;
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &total), 1);
    fclose(file);
    struct rlimit limit = {.rlim_cur = total * PAGE_BYTES + more, .rlim_max = RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

START_TEST(before_memory_runs_out_kept_mappings_are_given_back)
{
    enum { COUNT = 3, SMALL = 24000 };
    void *blocks[COUNT];

    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < COUNT; i++)
            blocks[i] = cia_allocate(9 * MIB);
        for (int i = 0; i < COUNT; i++)
            cia_free(blocks[i]);
        ck_assert_uint_gt(huge_cache_bytes(), 20 * MIB);
        limit_address_space(kind == 0 ? 40 * MIB : 12 * MIB);
        if (kind == 0) { /* none of those will do, nor is there as much as this besides */
            void *block = cia_allocate_aligned(8 * MIB, 50 * MIB);

            ck_assert_ptr_nonnull(block);
            cia_free(block);
        } else {
            static void *small[SMALL];

            for (int i = 0; i < SMALL; i++)
                ck_assert_ptr_nonnull(small[i] = cia_allocate(1000));
        }
        struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &none);
    }
}
END_TEST

START_TEST(a_block_from_a_kept_mapping_grows_without_a_copy)
{
    enum { FIRST = 3 * MIB, GREATEST = 64 * MIB };

    stay_on_cpu(sched_getcpu());
    cia_free(memset(cia_allocate(FIRST), 1, FIRST));
    char *block = cia_allocate(FIRST);
    struct rusage before, after;

    memset(block, 7, FIRST);
    getrusage(RUSAGE_SELF, &before);
    for (size_t bytes = FIRST; bytes < GREATEST; bytes += MIB)
        ck_assert_ptr_nonnull(block = cia_reallocate(block, bytes));
    getrusage(RUSAGE_SELF, &after);
    /* A copy would have touched each page of it. */
    ck_assert_int_lt(after.ru_minflt - before.ru_minflt, FIRST / PAGE_BYTES);
    for (size_t i = 0; i < FIRST; i += 100)
        ck_assert_int_eq(block[i], 7);
    cia_free(block);
}
END_TEST
#endif

/* Each block says whose it is at its ends and in between. */
static void mark(uint64_t *block, size_t bytes, uint64_t value)
{
    for (size_t i = 0; i < bytes / 8; i += 1 + bytes / 8 / 37)
        block[i] = value;
    block[bytes / 8 - 1] = value;
}

static bool is_marked(const uint64_t *block, size_t bytes, uint64_t value)
{
    for (size_t i = 0; i < bytes / 8; i += 1 + bytes / 8 / 37) {
        if (block[i] != value)
            return false;
    }
    return block[bytes / 8 - 1] == value;
}

static void *churn(void *argument)
{
    enum { BLOCKS = 6, STEPS = 2000 };
    uint64_t seed = (uint64_t)(uintptr_t)argument, *blocks[BLOCKS] = {NULL};
    size_t bytes[BLOCKS] = {0};

    for (uint64_t step = 1; step <= STEPS; step++) {
        uint32_t i = random_below(&seed, BLOCKS);
        uint64_t value = (uint64_t)(uintptr_t)argument * 1000 + i;

        if (blocks[i] != NULL && !is_marked(blocks[i], bytes[i], value))
            return "a block was changed by another";
        if (step % 8 == 0) {
            clock_milliseconds += 100;
            huge_give_back_old(clock_milliseconds);
        }
        cia_free(blocks[i] != NULL ? blocks[i] : cia_allocate(1));
        bytes[i] = (560000 + random_below(&seed, 14 * MIB)) & ~(size_t)7;
        blocks[i] = cia_allocate(bytes[i]);
        if (blocks[i] == NULL)
            return "out of memory";
        mark(blocks[i], bytes[i], value);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i] != NULL)
            cia_free(blocks[i]);
    }
    return NULL;
}

START_TEST(blocks_of_many_threads_never_share_a_mapping)
{
    pthread_t threads[EXCHANGERS];

    start_exchangers(threads, churn);
    for (int i = 0; i < EXCHANGERS; i++) {
        void *complaint;

        pthread_join(threads[i], &complaint);
        ck_assert_msg(complaint == NULL, "%s", (const char *)complaint);
    }
    ck_assert_uint_eq(live_blocks(), 0);
    cia_trim();
    ck_assert_uint_eq(huge_cache_bytes(), 0);
}
END_TEST

static atomic_bool forked_enough;

static void *come_and_go(void *argument)
{
    (void)argument;
    while (!atomic_load(&forked_enough))
        cia_free(cia_allocate(9 * MIB));
    return NULL;
}

START_TEST(the_child_of_a_fork_uses_what_is_kept)
{
    pthread_t thread;

    fork_register_handlers();
    ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, NULL), 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        int status;

        if (child == 0) {
            for (int round = 0; round < 20; round++) {
                char *block = cia_allocate(9 * MIB);

                if (block == NULL)
                    _exit(1);
                block[0] = block[9 * MIB - 1] = 1;
                cia_free(block);
            }
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    atomic_store(&forked_enough, true);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(freeing_a_block_whose_mapping_is_kept_aborts)
{
    void *block = cia_allocate(9 * MIB);

    cia_free(block);
    cia_free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia huge cache");
    TCase *tests = tcase_create("huge cache");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_shortest_mapping_that_is_long_enough_is_chosen);
    tcase_add_test(tests, a_mapping_serves_an_alignment_if_it_has_room_for_it);
    tcase_add_test(tests, a_mapping_is_found_by_its_neighbours);
    tcase_add_test(tests, a_mapping_serves_its_own_memory_node_only);
    tcase_add_test(tests, the_one_kept_for_longest_goes_first_and_none_before_its_time);
    tcase_add_test(tests, what_has_no_slot_is_refused);
    tcase_add_test(tests, mappings_side_by_side_are_as_old_as_their_pages_on_the_average);
    tcase_add_test(tests, what_is_said_of_a_slot_is_true_of_the_mapping_that_is_in_it);
    tcase_add_test(tests, a_block_from_a_mapping_of_which_the_program_closed_a_part_can_be_written);
    tcase_add_test(tests, blocks_that_come_and_go_map_nothing_new);
    tcase_add_test(tests, a_kept_mapping_serves_several_blocks_and_is_one_again_after_them);
    tcase_add_test(tests, the_bytes_of_blocks_are_the_pages_that_they_are_on);
    tcase_add_test(tests, what_an_aligned_block_leaves_of_a_kept_mapping_serves_others);
    tcase_add_test(tests, an_array_that_doubles_leaves_its_mapping_to_the_next_block);
    tcase_add_test(tests, short_blocks_take_the_pages_that_long_ones_left);
    tcase_add_test(tests, what_a_program_asked_for_a_long_block_does_not_hold_for_short_ones_there);
    tcase_add_test(tests, short_blocks_are_not_in_a_long_one_that_was_freed_while_it_was_locked);
    tcase_add_test(tests, blocks_from_kept_mappings_take_the_colours_in_turn);
    tcase_add_test(tests, calloc_reads_as_zero_whatever_was_in_the_mapping);
    tcase_add_test(tests, no_more_is_kept_than_the_bound);
    tcase_add_test(tests, a_kept_mapping_goes_back_after_the_decay_time);
    tcase_add_test(tests, with_a_decay_time_of_0_nothing_is_kept);
    tcase_add_test(tests, trim_gives_all_kept_mappings_back_at_once);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tests, before_memory_runs_out_kept_mappings_are_given_back);
    tcase_add_test(tests, a_block_from_a_kept_mapping_grows_without_a_copy);
#endif
    tcase_add_test(tests, blocks_of_many_threads_never_share_a_mapping);
    tcase_add_test(tests, the_child_of_a_fork_uses_what_is_kept);
    tcase_add_test_raise_signal(tests, freeing_a_block_whose_mapping_is_kept_aborts, SIGABRT);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
