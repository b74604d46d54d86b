/*
 * SPDX-License-Identifier: MIT
 *
 * For which memory huge pages are asked, and when they are split. What the allocator asks the
 * kernel is what is looked at: the program has a page_source_madvise of its own, which keeps a
 * record and goes on to the kernel, and answers itself whether the kernel gives huge pages.
 */
#include "base/short_file.h"
#include "base/system_call.h"
#include "cia_malloc/pages/decay_policy.h"
#include "cia_malloc/pages/page_source.h"
#include "cia_malloc/pages/purge.h"

#include "cia_clock.h"
#include "cia_fixture.h"
#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MIB = 1 << 20,
    HUGE_PAGE = 2 * MIB,
    RUN_BYTES = 98304, /* 24 pages and one for the colour: a run each */
    DENSE = 2000,      /* a block that is populated whole, and one that is not */
    SPARSE = 20000,
    MOST_ADVICE = 4096,
};

static struct advice {
    char *address;
    size_t bytes;
    int advice;
} advice_given[MOST_ADVICE];
static size_t advice_count;

/* These two are in place of the library's. */
long page_source_madvise(void *address, size_t bytes, int advice)
{
    if (advice_count < MOST_ADVICE)
        advice_given[advice_count++] = (struct advice){address, bytes, advice};
    return system_call_6(SYS_madvise, (long)address, (long)bytes, advice, 0, 0, 0);
}

static const char *mode = "always [madvise] never\n";
static bool mode_was_read, mode_was_read_under_lock;

/* The only file that the allocator reads here. */
long short_file_read(const char *path, char *text, size_t size)
{
    ck_assert_ptr_nonnull(strstr(path, "transparent_hugepage"));
    ck_assert_uint_ge(size, strlen(mode));
    mode_was_read = true;
    mode_was_read_under_lock |= atomic_load(&heap_here()->lock) != 0;
    memcpy(text, mode, strlen(mode));
    return (long)strlen(mode);
}

/* How many bytes this was asked for, in all. */
static size_t bytes_asked(int advice)
{
    size_t bytes = 0;

    for (size_t i = 0; i < advice_count; i++)
        bytes += advice_given[i].advice == advice ? advice_given[i].bytes : 0;
    return bytes;
}

/* The last word about huge pages for the address, or 0. */
static int wish_for(const void *address)
{
    int wish = 0;

    for (size_t i = 0; i < advice_count; i++) {
        const struct advice *given = &advice_given[i];
        bool about = given->advice == MADV_HUGEPAGE || given->advice == MADV_NOHUGEPAGE;

        if (about && (uintptr_t)address - (uintptr_t)given->address < given->bytes)
            wish = given->advice;
    }
    return wish;
}

static char *half_of(const void *address)
{
    return (char *)((uintptr_t)address & ~(uintptr_t)(HUGE_PAGE - 1));
}

enum { MOST_RUNS = 400 };
static char *runs[MOST_RUNS];
static int run_count;

static void take_runs(size_t bytes)
{
    for (size_t taken = 0; taken < bytes; taken += RUN_BYTES + PAGE_BYTES) {
        ck_assert_int_lt(run_count, MOST_RUNS);
        runs[run_count] = cia_allocate(RUN_BYTES);
        memset(runs[run_count++], 1, RUN_BYTES);
    }
}

static size_t purged_in_half(const char *half)
{
    size_t bytes = 0;

    for (size_t i = 0; i < advice_count; i++) {
        const char *from = advice_given[i].address, *to = from + advice_given[i].bytes;

        from = from > half ? from : half;
        to = to < half + HUGE_PAGE ? to : half + HUGE_PAGE;
        if (advice_given[i].advice == MADV_DONTNEED && from < to)
            bytes += (size_t)(to - from);
    }
    return bytes;
}

/* Frees some of so many that follow each other in a half. */
static void free_some_in(const char *half, int freed, int of)
{
    int n = 0;

    for (int i = 0; i < run_count; i++) {
        if (runs[i] != NULL && half_of(runs[i]) == half && half_of(runs[i] + RUN_BYTES) == half &&
            n++ % of < freed) {
            cia_free(runs[i]);
            runs[i] = NULL;
        }
    }
}

/* Returns one of the blocks. */
static char *take_blocks(size_t bytes, size_t size)
{
    char *block = NULL;

    for (size_t taken = 0; taken < bytes; taken += size)
        block = cia_allocate(size);
    return block;
}

START_TEST(a_small_program_asks_for_none_and_gets_none)
{
    stay_on_cpu(sched_getcpu());
    char *early = take_blocks(PAGE_BYTES, DENSE), *late = take_blocks(9 * MIB / 2, DENSE);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
    /* Where the kernel gives them unasked. */
    ck_assert_int_eq(wish_for(early), MADV_NOHUGEPAGE);
    ck_assert_int_eq(wish_for(late), MADV_NOHUGEPAGE);
}
END_TEST

START_TEST(a_program_that_has_grown_asks_for_them)
{
    static const char *const lines[] = {"exclusive", "compact"};

    setenv("CIA_LINES", lines[_i], 1);
    stay_on_cpu(sched_getcpu());
    char *block = take_blocks(40 * MIB, DENSE);
    ck_assert_uint_ge(bytes_asked(MADV_HUGEPAGE), 32 * MIB);
    ck_assert_int_eq(wish_for(block), MADV_HUGEPAGE);
}
END_TEST

START_TEST(blocks_of_which_a_program_may_touch_little_ask_for_none)
{
    static const size_t sizes[] = {SPARSE, RUN_BYTES};

    stay_on_cpu(sched_getcpu());
    take_blocks(40 * MIB, sizes[_i]);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
}
END_TEST

/* A sub-heap whose first block is long has a first chunk of 4 MiB. */
START_TEST(a_first_chunk_of_long_blocks_counts_as_others_do)
{
    stay_on_cpu(sched_getcpu());
    take_blocks(4 * MIB, 500000);
    take_blocks(30 * MIB, DENSE);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
}
END_TEST

START_TEST(a_part_of_such_blocks_is_enough_to_ask_for_none)
{
    stay_on_cpu(sched_getcpu());
    take_blocks(MIB, RUN_BYTES);
    take_blocks(20 * MIB, DENSE);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
    take_blocks(130 * MIB, DENSE); /* until it is a small one */
    ck_assert_uint_gt(bytes_asked(MADV_HUGEPAGE), 0);
}
END_TEST

static char *chunk_of(const void *address)
{
    return (char *)((uintptr_t)address & ~(uintptr_t)(CHUNK_BYTES - 1));
}

/* Of a chunk, or a half of one. */
static size_t resident_bytes(char *address, size_t bytes)
{
    static unsigned char pages[CHUNK_PAGES];
    size_t count = 0;

    if (mincore(address, bytes, pages) != 0)
        return 0; /* it is gone */
    for (size_t i = 0; i < bytes / PAGE_BYTES; i++)
        count += pages[i] & 1;
    return count * PAGE_BYTES;
}

START_TEST(what_the_kernel_fills_in_is_a_small_part)
{
    enum { MOST = 64 };
    char *chunks[MOST];
    size_t count = 0, resident = 0;

    stay_on_cpu(sched_getcpu());
    for (size_t taken = 0; taken < 100 * MIB; taken += DENSE) {
        char *chunk = chunk_of(cia_allocate(DENSE));
        size_t known = 0;

        while (known < count && chunks[known] != chunk)
            known++;
        ck_assert_uint_lt(known, MOST);
        chunks[known] = chunk;
        count += known == count;
    }
    for (size_t i = 0; i < count; i++)
        resident += resident_bytes(chunks[i], CHUNK_BYTES);
    size_t used = page_heap_used_bytes();
    ck_assert_uint_gt(bytes_asked(MADV_HUGEPAGE), used / 2);
    /* What is published of the pages in use may be late by a MiB. */
    ck_assert_uint_le(resident, used + used / 24 + HUGE_PAGE + MIB);
}
END_TEST

START_TEST(with_0_none_are_asked_for)
{
    setenv("CIA_HUGE_PAGES", "0", 1);
    stay_on_cpu(sched_getcpu());
    char *block = take_blocks(40 * MIB, DENSE);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
    ck_assert_int_eq(wish_for(block), MADV_NOHUGEPAGE);
}
END_TEST

START_TEST(with_1_they_are_asked_for_from_the_first_chunk_on)
{
    setenv("CIA_HUGE_PAGES", "1", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(1);
    ck_assert_int_eq(wish_for(runs[0]), MADV_HUGEPAGE);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), CHUNK_BYTES);
}
END_TEST

START_TEST(a_kernel_that_gives_none_is_not_asked)
{
    static const char *const modes[] = {"always madvise [never]\n", ""};

    mode = modes[_i];
    stay_on_cpu(sched_getcpu());
    take_blocks(40 * MIB, DENSE);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
}
END_TEST

START_TEST(whether_it_gives_any_is_read_without_the_lock)
{
    stay_on_cpu(sched_getcpu());
    take_blocks(40 * MIB, DENSE);
    ck_assert(mode_was_read);
    ck_assert(!mode_was_read_under_lock);
}
END_TEST

START_TEST(many_sub_heaps_with_a_little_each_ask_for_none)
{
    enum { HEAPS = 16 };
    struct subheap *held[HEAPS];

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < HEAPS; i++) {
        char *block = take_blocks(3 * MIB / 2, DENSE);
        held[i] = page_map_chunk(block)->owner;
        ck_assert(subheap_try_lock(held[i])); /* the next ones come from another */
    }
    ck_assert_uint_gt(page_heap_used_bytes(), 8 * MIB);
    ck_assert_uint_eq(bytes_asked(MADV_HUGEPAGE), 0);
    for (int i = 0; i < HEAPS; i++)
        subheap_unlock(held[i]);
}
END_TEST

static void let_time_pass(void)
{
    struct subheap *heap = heap_here();

    for (int i = 0; i < 2 * DECAY_STEPS; i++) {
        clock_milliseconds += DECAY_DEFAULT / DECAY_STEPS;
        ck_assert(subheap_try_lock(heap));
        purge_due(&heap->pages, clock_milliseconds, CHUNK_PAGES);
        subheap_unlock(heap);
    }
}

/* One that is full, of a heap that has huge pages. */
static char *a_half_of_many(void)
{
    setenv("CIA_HUGE_PAGES", "1", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(16 * MIB);
    return half_of(runs[run_count / 2]);
}

START_TEST(a_huge_page_is_split_when_a_part_of_it_was_free_for_the_decay_time)
{
    char *half = a_half_of_many();

    let_time_pass();
    ck_assert_uint_eq(purged_in_half(half), 0);
    ck_assert_int_eq(wish_for(half), MADV_HUGEPAGE);
    free_some_in(half, 2, 3);
    let_time_pass();
    ck_assert_uint_gt(purged_in_half(half), HUGE_PAGE / 2);
    /* Else the kernel would join it again and fill in what went back. */
    ck_assert_int_eq(wish_for(half), MADV_NOHUGEPAGE);
}
END_TEST

START_TEST(what_the_kernel_filled_in_goes_back_once_a_run_beside_it_is_free)
{
    setenv("CIA_HUGE_PAGES", "1", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(3 * RUN_BYTES);
    char *half = half_of(runs[0]);
    let_time_pass();
    ck_assert_uint_eq(purged_in_half(half), 0); /* the program may be about to fill it */
    cia_free(runs[run_count - 1]);
    let_time_pass();
    size_t in_use = (size_t)run_count * (RUN_BYTES + PAGE_BYTES);
    ck_assert_uint_ge(purged_in_half(half), HUGE_PAGE - in_use);
}
END_TEST

START_TEST(a_trim_gives_back_every_free_page_of_huge_pages)
{
    char *half = a_half_of_many();

    free_some_in(half, 1, 4);
    cia_trim();
    ck_assert_uint_gt(purged_in_half(half), HUGE_PAGE / 8);
    ck_assert_int_eq(wish_for(half), MADV_NOHUGEPAGE);
}
END_TEST

START_TEST(after_a_trim_no_more_is_resident_than_is_in_use)
{
    size_t resident = 0, in_use = 0;
    char *last = NULL;

    setenv("CIA_HUGE_PAGES", "1", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(57 * MIB / 2); /* the last half is begun, not full */
    for (int i = 0; i < run_count; i++) {
        if (i % 5 != 0)
            cia_free(runs[i]);
        else
            in_use += RUN_BYTES + PAGE_BYTES;
    }
    cia_trim();
    for (int i = 0; i < run_count; i++) {
        char *chunk = chunk_of(runs[i]);

        resident += chunk != last ? resident_bytes(chunk, CHUNK_BYTES) : 0;
        last = chunk;
    }
    ck_assert_uint_gt(resident, in_use / 2);
    ck_assert_uint_le(resident, in_use);
}
END_TEST

START_TEST(a_half_that_went_back_is_no_huge_page_any_more)
{
    enum { BLOCKS = 40 * MIB / DENSE, APART = CHUNK_BYTES / DENSE };
    static char *blocks[BLOCKS];
    size_t empty = 0;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = cia_allocate(DENSE);
    for (int i = 0; i < BLOCKS; i++) {
        if (i % APART != 0)
            cia_free(blocks[i]);
    }
    cia_trim();
    for (int i = 0; i < BLOCKS; i += APART) {
        for (char *half = chunk_of(blocks[i]), *end = half + CHUNK_BYTES; half < end;
             half += HUGE_PAGE) {
            if (purged_in_half(half) == HUGE_PAGE) {
                ck_assert_int_eq(wish_for(half), MADV_NOHUGEPAGE);
                empty++;
            }
        }
    }
    ck_assert_uint_gt(empty, 0);
}
END_TEST

START_TEST(a_huge_page_without_a_run_goes_back_in_one_piece)
{
    setenv("CIA_HUGE_PAGES", "1", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(3 * MIB);
    size_t before = advice_count;

    for (int i = 0; i < run_count; i++)
        cia_free(runs[i]);
    let_time_pass();
    /* The only chunk there is stays, its pages do not. */
    ck_assert_uint_ge(advice_count, before + 2);
    for (size_t i = before; i < advice_count; i++) {
        ck_assert_int_eq(advice_given[i].advice, MADV_DONTNEED);
        ck_assert_uint_eq(advice_given[i].bytes, HUGE_PAGE);
        ck_assert_ptr_eq(half_of(advice_given[i].address), advice_given[i].address);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia huge pages");
    TCase *tests = tcase_create("huge pages");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_small_program_asks_for_none_and_gets_none);
    tcase_add_loop_test(tests, a_program_that_has_grown_asks_for_them, 0, 2);
    tcase_add_loop_test(tests, blocks_of_which_a_program_may_touch_little_ask_for_none, 0, 2);
    tcase_add_test(tests, a_first_chunk_of_long_blocks_counts_as_others_do);
    tcase_add_test(tests, a_part_of_such_blocks_is_enough_to_ask_for_none);
    tcase_add_test(tests, what_the_kernel_fills_in_is_a_small_part);
    tcase_add_test(tests, with_0_none_are_asked_for);
    tcase_add_test(tests, with_1_they_are_asked_for_from_the_first_chunk_on);
    tcase_add_loop_test(tests, a_kernel_that_gives_none_is_not_asked, 0, 2);
    tcase_add_test(tests, whether_it_gives_any_is_read_without_the_lock);
    tcase_add_test(tests, many_sub_heaps_with_a_little_each_ask_for_none);
    tcase_add_test(tests, a_huge_page_is_split_when_a_part_of_it_was_free_for_the_decay_time);
    tcase_add_test(tests, what_the_kernel_filled_in_goes_back_once_a_run_beside_it_is_free);
    tcase_add_test(tests, a_trim_gives_back_every_free_page_of_huge_pages);
    tcase_add_test(tests, after_a_trim_no_more_is_resident_than_is_in_use);
    tcase_add_test(tests, a_half_that_went_back_is_no_huge_page_any_more);
    tcase_add_test(tests, a_huge_page_without_a_run_goes_back_in_one_piece);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
