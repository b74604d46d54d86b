/*
 * SPDX-License-Identifier: MIT
 *
 * Memory that nobody uses goes back in its time: little by little, from the sub-heap that the
 * program works in and from those that nobody comes by. Time is what the test says.
 */
#include "base/memory_nodes.h"
#include "base/random.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/pages/decay_policy.h"
#include "cia_malloc/pages/purge.h"

#include "cia_clock.h"
#include "cia_fixture.h"
#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { TIME = DECAY_DEFAULT, STEP = TIME / DECAY_STEPS };

START_TEST(what_came_at_one_moment_is_due_in_equal_parts)
{
    enum { PAGES = 1600, PART = PAGES / DECAY_STEPS };
    struct decay decay = {0};
    uint32_t left = PAGES;

    ck_assert_uint_eq(decay_due(&decay, 0, 0), 0);
    for (uint32_t step = 1; step <= DECAY_STEPS; step++) {
        uint32_t due = decay_due(&decay, (uint64_t)step * STEP, left);

        ck_assert_uint_eq(due, PART);
        ck_assert_uint_eq(decay_due(&decay, (uint64_t)step * STEP + STEP - 1, left), PART);
        decay_gave_back(&decay, due);
        left -= due;
        ck_assert_uint_eq(decay_due(&decay, (uint64_t)step * STEP, left), 0);
    }
    ck_assert_uint_eq(left, 0);
}
END_TEST

START_TEST(what_was_not_given_back_stays_due)
{
    struct decay decay = {0};

    decay_due(&decay, 0, 160);
    ck_assert_uint_eq(decay_due(&decay, STEP, 160), 10);
    decay_gave_back(&decay, 4);
    ck_assert_uint_eq(decay_due(&decay, STEP, 156), 6);
    ck_assert_uint_eq(decay_due(&decay, 2 * STEP, 156), 16);
}
END_TEST

START_TEST(pages_in_use_again_are_not_due)
{
    struct decay decay = {0};

    decay_due(&decay, STEP, 160);
    ck_assert_uint_eq(decay_due(&decay, 8 * STEP, 80), 0); /* half of them may still be kept */
    ck_assert_uint_eq(decay_due(&decay, 15 * STEP, 0), 0);
    /* Those that come now have their time before them. */
    ck_assert_uint_eq(decay_due(&decay, 16 * STEP, 160), 10);
}
END_TEST

START_TEST(pages_that_nobody_looked_at_for_the_decay_time_are_due_at_once)
{
    struct decay decay = {0};

    decay_due(&decay, 1000 * TIME, 0);
    /* They came at the time of the last look, or soon after. */
    ck_assert_uint_eq(decay_due(&decay, (uint64_t)1001 * TIME, 500), 500);
}
END_TEST

/* In a block of many pages, how many are populated. */
static size_t resident_pages_of(char *block, size_t bytes)
{
    unsigned char resident[4096];
    char *begin = (char *)(((uintptr_t)block + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1));
    size_t pages = (bytes - (size_t)(begin - block)) / PAGE_BYTES, count = 0;

    if (mincore(begin, pages * PAGE_BYTES, resident) != 0)
        return 0; /* not even mapped */
    for (size_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    return count;
}

static size_t dirty_bytes(void)
{
    return cia_totals_read().dirty_bytes;
}

/* Blocks that are a run each, of one chunk. */
enum { RUNS = 8, RUN_BYTES = 400000 };

static void take_runs(char *runs[RUNS])
{
    for (int i = 0; i < RUNS; i++)
        memset(runs[i] = cia_allocate(RUN_BYTES), 1, RUN_BYTES);
}

static void free_runs(char *const runs[RUNS])
{
    for (int i = 0; i < RUNS; i++)
        cia_free(runs[i]);
}

static size_t resident_pages_of_runs(char *const runs[RUNS])
{
    size_t pages = 0;

    for (int i = 0; i < RUNS; i++)
        pages += resident_pages_of(runs[i], RUN_BYTES);
    return pages;
}

/* What a program does that goes on: a run comes and goes. */
static void go_on(void)
{
    cia_free(cia_allocate(70000));
}

START_TEST(freed_pages_go_back_little_by_little_while_the_program_goes_on)
{
    char *runs[RUNS];

    stay_on_cpu(sched_getcpu());
    take_runs(runs);
    size_t all = resident_pages_of_runs(runs), before = all;
    free_runs(runs);
    ck_assert_uint_ge(dirty_bytes(), RUNS * RUN_BYTES);
    for (int step = 0; step < DECAY_STEPS; step++) {
        clock_milliseconds += STEP;
        go_on();
        size_t now = resident_pages_of_runs(runs);
        ck_assert_uint_le(now, before);
        before = now;
        if (step == DECAY_STEPS / 2)
            ck_assert(now > all / 4 && now < all * 3 / 4);
    }
    ck_assert_uint_le(dirty_bytes(), 80000 + 2 * PAGE_BYTES);
    ck_assert_uint_le(resident_pages_of_runs(runs), 22);
}
END_TEST

START_TEST(freed_pages_go_back_while_the_program_only_frees)
{
    char *runs[RUNS], *more[DECAY_STEPS];

    stay_on_cpu(sched_getcpu());
    take_runs(runs);
    for (int i = 0; i < DECAY_STEPS; i++)
        more[i] = cia_allocate(70000);
    free_runs(runs);
    for (int i = 0; i < DECAY_STEPS; i++) {
        clock_milliseconds += STEP;
        cia_free(more[i]);
    }
    ck_assert_uint_lt(dirty_bytes(), RUNS * RUN_BYTES * 2 / 3); /* the last ones, mostly */
}
END_TEST

START_TEST(pages_that_are_wanted_again_in_time_stay)
{
    char *runs[RUNS];

    stay_on_cpu(sched_getcpu());
    for (int round = 0; round < 40; round++) {
        take_runs(runs);
        free_runs(runs);
        if (round > 20)
            ck_assert_uint_gt(dirty_bytes(), RUNS * RUN_BYTES / 2);
        clock_milliseconds += STEP;
    }
}
END_TEST

START_TEST(with_a_decay_time_of_never_pages_stay_until_a_trim)
{
    char *runs[RUNS];

    setenv("CIA_DECAY_MS", "-1", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(runs);
    free_runs(runs);
    size_t dirty = dirty_bytes();
    for (int i = 0; i < 20; i++) {
        clock_milliseconds += TIME;
        go_on();
        housekeeping_tick();
    }
    ck_assert_uint_eq(dirty_bytes(), dirty);
    cia_trim();
    ck_assert_uint_eq(dirty_bytes(), 0);
}
END_TEST

START_TEST(with_a_decay_time_of_0_pages_go_back_when_they_are_freed)
{
    char *runs[RUNS];

    setenv("CIA_DECAY_MS", "0", 1);
    stay_on_cpu(sched_getcpu());
    take_runs(runs);
    free_runs(runs);
    ck_assert_uint_eq(dirty_bytes(), 0);
    ck_assert_uint_eq(resident_pages_of_runs(runs), 0);
}
END_TEST

START_TEST(a_call_gives_no_more_than_4_MiB_back)
{
    enum { COUNT = 120 };
    static char *blocks[COUNT];

    setenv("CIA_HUGE_PAGES", "0", 1); /* such pages go back in one piece or not at all */
    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < COUNT; i++)
        memset(blocks[i] = cia_allocate(RUN_BYTES), 1, RUN_BYTES);
    for (int i = 0; i < COUNT; i += 2)
        cia_free(blocks[i]);
    struct subheap *heap = heap_here();
    clock_milliseconds += 2 * TIME;
    for (uint32_t before = heap->pages.dirty_pages; before > 0;) {
        ck_assert(subheap_try_lock(heap));
        purge_due(&heap->pages, clock_milliseconds, CHUNK_PAGES);
        subheap_unlock(heap);
        ck_assert_uint_lt(heap->pages.dirty_pages, before);
        ck_assert_uint_le(before - heap->pages.dirty_pages, CHUNK_PAGES);
        before = heap->pages.dirty_pages;
    }
}
END_TEST

/* Makes another sub-heap and returns it; runs of it are in use, freed, and wait in its inbox. */
static struct subheap *leave_a_sub_heap(char *runs[RUNS], bool in_inbox)
{
    stay_on_cpu(sched_getcpu());
    cia_free(cia_allocate(1));
    struct subheap *heap = heap_here();

    ck_assert(subheap_try_lock(heap));
    take_runs(runs);
    struct subheap *other = page_map_chunk(runs[0])->owner;
    ck_assert_ptr_ne(other, heap);
    if (in_inbox) {
        subheap_unlock(heap);
        free_runs(runs);
        ck_assert_ptr_nonnull(atomic_load(&other->inbox.newest));
    } else {
        free_runs(runs);
        ck_assert(subheap_try_lock(other));
        subheap_drain(other);
        subheap_unlock(other);
        subheap_unlock(heap);
    }
    return other;
}

START_TEST(a_sub_heap_that_nobody_comes_by_gives_its_pages_back)
{
    for (int in_inbox = 0; in_inbox < 2; in_inbox++) {
        char *runs[RUNS];
        struct subheap *other = leave_a_sub_heap(runs, in_inbox != 0);

        size_t all = resident_pages_of_runs(runs);
        for (int i = 0; i < 4 * DECAY_STEPS; i++) {
            clock_milliseconds += STEP;
            housekeeping_tick();
            if (i == 4)
                ck_assert_ptr_null(atomic_load(&other->inbox.newest));
            if (i == DECAY_STEPS * 3 / 4) {
                ck_assert_uint_gt(resident_pages_of_runs(runs), all / 10);
                ck_assert_uint_lt(resident_pages_of_runs(runs), all * 3 / 4);
            }
        }
        ck_assert_uint_eq(other->pages.dirty_pages, 0);
        ck_assert_uint_eq(resident_pages_of_runs(runs), 0);
    }
}
END_TEST

static void let_time_pass(void)
{
    for (int i = 0; i < 4 * DECAY_STEPS; i++) {
        clock_milliseconds += STEP;
        housekeeping_tick();
    }
}

START_TEST(a_sub_heap_that_nobody_comes_by_gives_its_idle_runs_back)
{
    enum { COUNT = 100 };
    void *blocks[COUNT];

    stay_on_cpu(sched_getcpu());
    cia_free(cia_allocate(1));
    struct subheap *heap = heap_here();
    ck_assert(subheap_try_lock(heap));
    for (int i = 0; i < COUNT; i++)
        blocks[i] = cia_allocate(60); /* one short run, which its class keeps */
    struct subheap *other = page_map_chunk(blocks[COUNT - 1])->owner;
    subheap_unlock(heap);
    let_time_pass();
    ck_assert_uint_gt(other->pages.used_pages, 0);
    /* Freed from here, after it was trimmed; the run would be kept for its next malloc. */
    for (int i = 0; i < COUNT; i++)
        cia_free(blocks[i]);
    flush_all();
    let_time_pass();
    ck_assert_uint_eq(other->pages.used_pages, 0);
    ck_assert_uint_eq(other->pages.dirty_pages, 0);
}
END_TEST

START_TEST(a_sub_heap_gives_back_the_runs_that_its_own_cpu_freed_last)
{
    enum { COUNT = 20 };
    static const size_t lengths[] = {60, 300, 1000, 4000};
    void *blocks[sizeof lengths / sizeof *lengths][COUNT];

    stay_on_cpu(sched_getcpu());
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int j = 0; j < COUNT; j++)
            blocks[i][j] = cia_allocate(lengths[i]); /* one run each, which their class keeps */
    }
    struct subheap *heap = page_map_chunk(blocks[0][0])->owner;
    let_time_pass();
    ck_assert_uint_gt(heap->pages.used_pages, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int j = 0; j < COUNT; j++)
            cia_free(blocks[i][j]);
    }
    let_time_pass();
    ck_assert_uint_eq(heap->pages.used_pages, 0);
    ck_assert_uint_eq(heap->pages.dirty_pages, 0);
}
END_TEST

/* A sub-heap that no thread allocates from. */
static struct subheap *locked_heap(void)
{
    make_first_call();
    struct subheap *heap = subheap_create(0, MEMORY_NODE_UNKNOWN);
    ck_assert(subheap_try_lock(heap));
    return heap;
}

static struct page_run take_pages(struct subheap *heap, uint32_t pages)
{
    const struct page_request request = {.pages = pages, .modulus = 1};
    struct page_run run;

    ck_assert(page_heap_take(&heap->pages, &request, &run));
    return run;
}

/* The first words of a chunk, from its link on. */
static void allow_to_look_at(struct chunk *chunk, bool allowed)
{
    void *page = (void *)((uintptr_t)chunk & ~(uintptr_t)(PAGE_BYTES - 1));

    ck_assert_int_eq(mprotect(page, PAGE_BYTES, allowed ? PROT_READ | PROT_WRITE : PROT_NONE), 0);
}

START_TEST(a_purge_looks_at_no_chunk_without_dirty_pages)
{
    struct subheap *heap = locked_heap();
    struct chunk *before = take_pages(heap, 700).chunk;
    take_pages(heap, 700);
    struct page_run run = take_pages(heap, 70);
    struct chunk *behind = take_pages(heap, 700).chunk;
    ck_assert_ptr_eq(behind->link.next, &run.chunk->link);
    ck_assert_ptr_eq(run.chunk->link.next, &before->link);
    page_heap_put(&heap->pages, run.chunk, run.page, 70);
    allow_to_look_at(before, false);
    allow_to_look_at(behind, false);
    ck_assert_uint_eq(purge_all(&heap->pages, false), 70);
    subheap_unlock(heap);
    allow_to_look_at(before, true);
    allow_to_look_at(behind, true);
    ck_assert_uint_eq(heap->pages.dirty_pages, 0);
    ck_assert_uint_eq(heap->pages.chunks_in_work, 0);
}
END_TEST

static void purge_10_pages(struct subheap *heap)
{
    purge_due(&heap->pages, clock_milliseconds, 10);
    subheap_unlock(heap);
    ck_assert(subheap_try_lock(heap));
}

START_TEST(the_chunk_that_changed_longest_ago_is_purged_first_and_until_it_is_clean)
{
    struct subheap *heap = locked_heap();
    struct page_run first = take_pages(heap, 800), early = take_pages(heap, 40);
    struct page_run late = take_pages(heap, 40), second = take_pages(heap, 900);
    struct page_run between = take_pages(heap, 40);
    ck_assert_ptr_eq(late.chunk, first.chunk);
    ck_assert_ptr_eq(between.chunk, second.chunk);
    page_heap_put(&heap->pages, early.chunk, early.page, 40);
    page_heap_put(&heap->pages, between.chunk, between.page, 40);
    page_heap_put(&heap->pages, late.chunk, late.page, 40);
    clock_milliseconds += 2 * TIME;
    for (uint32_t left = 40; left > 0; left -= 10) {
        ck_assert_uint_eq(second.chunk->dirty_pages, left);
        purge_10_pages(heap);
    }
    ck_assert_uint_eq(second.chunk->dirty_pages, 0);
    ck_assert_uint_eq(first.chunk->dirty_pages, 80);
    purge_10_pages(heap);
    ck_assert_uint_eq(first.chunk->dirty_pages, 70);
    subheap_unlock(heap);
}
END_TEST

START_TEST(pages_that_the_kernel_refuses_keep_no_others_back)
{
    struct subheap *heap = locked_heap();
    struct page_run first = take_pages(heap, 800), locked = take_pages(heap, 40);
    struct page_run second = take_pages(heap, 900), other = take_pages(heap, 40);
    ck_assert_ptr_eq(locked.chunk, first.chunk);
    ck_assert_ptr_eq(other.chunk, second.chunk);
    char *address = first.chunk->base + (size_t)locked.page * PAGE_BYTES;
    /* The sanitizers' mlock does nothing. */
    ck_assert_int_eq(syscall(SYS_mlock, address, 40 * PAGE_BYTES), 0);
    page_heap_put(&heap->pages, locked.chunk, locked.page, 40);
    page_heap_put(&heap->pages, other.chunk, other.page, 40);
    clock_milliseconds += 2 * TIME;
    purge_10_pages(heap);
    ck_assert_uint_eq(first.chunk->dirty_pages, 40);
    ck_assert_uint_eq(second.chunk->dirty_pages, 40);
    purge_10_pages(heap);
    ck_assert_uint_eq(second.chunk->dirty_pages, 30);
    subheap_unlock(heap);
}
END_TEST

static bool is_to_be_purged(const struct chunk *chunk)
{
    return chunk->dirty_pages > 0 && chunk->worker == NULL;
}

/* Whether exactly those chunks are in the circles of dirty ones, each in that of its room. */
static void check_dirty_circles(const struct page_heap *heap)
{
    uint32_t dirty_pages = 0;

    for (enum chunk_circle circle = 0; circle < CHUNK_CIRCLES; circle++) {
        const struct chunk *chunk = chunk_circle_last(heap, circle);
        const struct circle_link *link = heap->dirty[circle];
        uint32_t expected = 0, found = 0;

        for (; chunk != NULL; chunk = chunk_circle_before(heap, circle, chunk)) {
            expected += is_to_be_purged(chunk);
            dirty_pages += chunk->dirty_pages;
        }
        for (; link != NULL; link = circle_next(heap->dirty[circle], link), found++) {
            chunk = (const void *)((const char *)link - offsetof(struct chunk, dirty_link));
            ck_assert(is_to_be_purged(chunk));
            ck_assert_uint_eq(chunk->circle, circle);
        }
        ck_assert_uint_eq(found, expected);
    }
    ck_assert_uint_eq(heap->dirty_pages, dirty_pages);
}

START_TEST(a_chunk_is_to_be_purged_while_it_has_dirty_pages_and_no_work)
{
    enum { COUNT = 200, CALLS = 20000 };
    static struct page_run runs[COUNT];
    static uint32_t pages[COUNT];
    uint64_t random = 7;

    struct subheap *heap = locked_heap();
    for (uint32_t call = 0; call < CALLS; call++) {
        /* At times few runs are live, and at times many. */
        uint32_t i = random_below(&random, call / 1000 % 4 == 3 ? 10 : COUNT);
        struct page_run run = runs[i];

        if (run.chunk == NULL) {
            pages[i] = 1 + random_below(&random, 129);
            runs[i] = take_pages(heap, pages[i]);
        } else {
            runs[i].chunk = NULL;
            if (random_below(&random, 2) == 0)
                page_heap_put(&heap->pages, run.chunk, run.page, pages[i]);
            else
                page_heap_return(&heap->pages, run.chunk, run.page, pages[i]);
        }
        check_dirty_circles(&heap->pages);
        clock_milliseconds += random_below(&random, STEP / 4);
        if (random_below(&random, 100) == 0)
            subheap_trim(heap, random_below(&random, 2) == 0);
        check_dirty_circles(&heap->pages);
        /* Until then what was chosen is in work. */
        if (random_below(&random, 20) == 0) {
            subheap_unlock(heap);
            ck_assert(subheap_try_lock(heap));
        }
        check_dirty_circles(&heap->pages);
    }
    subheap_unlock(heap);
}
END_TEST

/* Leaves a run of the class without a live block. Returns its chunk. */
static const struct chunk *leave_an_idle_run(struct subheap *heap, unsigned size_class)
{
    bool untouched;
    void *block = subheap_allocate(heap, size_class, &untouched);
    struct block at = block_at(page_map_chunk(block), block);

    subheap_free_local(heap, &at.chunk->spans[at.span], at.bit);
    return at.chunk;
}

START_TEST(a_trim_finds_idle_runs_whatever_it_purges)
{
    struct subheap *heap = locked_heap();
    /* The last chunk of a circle has an idle run, and nothing to purge. */
    const struct chunk *last = take_pages(heap, 900).chunk;
    ck_assert_ptr_eq(leave_an_idle_run(heap, size_class_of(500)), last);
    /* Of the one before it, pages are due; while they are purged it is nearly full. */
    take_pages(heap, 944);
    struct page_run due = take_pages(heap, 70);
    page_heap_return(&heap->pages, due.chunk, due.page, 70);
    /* The first one has an idle run. */
    const struct chunk *first = take_pages(heap, 930).chunk;
    ck_assert_ptr_eq(leave_an_idle_run(heap, size_class_of(600)), first);
    ck_assert_ptr_eq(heap->pages.circle[CHUNKS_WITH_SLACK], &first->link);
    ck_assert_ptr_eq(first->link.next, &due.chunk->link);
    ck_assert_ptr_eq(due.chunk->link.next, &last->link);
    clock_milliseconds += 2 * TIME;
    subheap_trim(heap, false);
    ck_assert_uint_eq(heap->pages.used_pages, 900 + 944 + 930);
    subheap_unlock(heap);
    ck_assert_uint_eq(heap->pages.dirty_pages, 0);
}
END_TEST

START_TEST(a_trim_gives_back_what_comes_to_a_chunk_of_which_pages_are_due)
{
    char *runs[RUNS];

    stay_on_cpu(sched_getcpu());
    take_runs(runs);
    struct subheap *heap = heap_here();
    cia_free(runs[0]);
    /* The others wait for the holder: the trim returns them, and finds the first one's pages due.
     */
    ck_assert(subheap_try_lock(heap));
    for (int i = 1; i < RUNS; i++)
        cia_free(runs[i]);
    subheap_unlock(heap);
    clock_milliseconds += 2 * TIME;
    ck_assert(cia_trim());
    ck_assert_uint_eq(dirty_bytes(), 0);
}
END_TEST

static uint32_t idle_runs_of(const struct chunk *chunk)
{
    uint32_t idle = 0, pages;

    for (uint32_t page = 0; page < chunk->mapped_pages; page += pages) {
        unsigned size_class = chunk->pages[page].size_class;

        pages = size_class <= CLASS_LARGE ? chunk->spans[page].run_pages : 1;
        idle += size_class < SIZE_CLASS_COUNT &&
                class_heap_run_is_idle(&chunk->owner->classes[size_class], chunk, page);
    }
    return idle;
}

static uint32_t idle_runs(const struct subheap *heap)
{
    uint32_t idle = 0;

    for (enum chunk_circle circle = 0; circle < CHUNK_CIRCLES; circle++) {
        const struct chunk *chunk = chunk_circle_last(&heap->pages, circle);

        for (; chunk != NULL; chunk = chunk_circle_before(&heap->pages, circle, chunk))
            idle += idle_runs_of(chunk);
    }
    return idle;
}

START_TEST(a_trim_leaves_no_idle_run_whatever_came_before)
{
    enum { BLOCKS = 6000, ROUNDS = 60 };
    static const size_t lengths[] = {16, 60, 300, 1000, 4000};
    static char *blocks[BLOCKS];
    uint64_t random = 7;

    struct subheap *heap = locked_heap();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t used = round % 6 == 5 ? 0 : random_below(&random, BLOCKS);
        uint32_t calls = random_below(&random, 2 * BLOCKS);

        /* Of some classes many come and go, of others one or two. */
        for (uint32_t i = 0; i < calls; i++) {
            char **place = &blocks[random_below(&random, used + 1)];
            bool untouched;

            if (*place != NULL) {
                struct block at = block_at(page_map_chunk(*place), *place);

                subheap_free_local(heap, &at.chunk->spans[at.span], at.bit);
                *place = NULL;
            } else {
                uint32_t kinds = 1 + round % (sizeof lengths / sizeof *lengths);

                *place = subheap_allocate(
                    heap, size_class_for(lengths[random_below(&random, kinds)]), &untouched);
            }
        }
        for (uint32_t i = used; round % 3 == 0 && i < BLOCKS; i++) {
            if (blocks[i] == NULL)
                continue;
            struct block at = block_at(page_map_chunk(blocks[i]), blocks[i]);
            subheap_free_local(heap, &at.chunk->spans[at.span], at.bit);
            blocks[i] = NULL;
        }
        subheap_trim(heap, false);
        ck_assert_uint_eq(idle_runs(heap), 0);
    }
    subheap_unlock(heap);
}
END_TEST

START_TEST(a_sub_heap_that_somebody_holds_is_passed_by)
{
    char *runs[RUNS];
    struct subheap *other = leave_a_sub_heap(runs, true);

    ck_assert(subheap_try_lock(other));
    for (int i = 0; i < 4 * DECAY_STEPS; i++) {
        clock_milliseconds += TIME;
        housekeeping_tick();
    }
    ck_assert_ptr_nonnull(atomic_load(&other->inbox.newest));
    subheap_unlock(other);
}
END_TEST

/* The magazine of the class for such blocks, on the CPU that the test stays on: many wait in it. */
static struct magazine *full_magazine_of(size_t bytes)
{
    enum { MANY = 2000 };
    static void *waiting[MANY];
    struct magazine *magazine;

    for (int i = 0; i < MANY; i++) /* the class is in heavy use */
        cia_free(cia_allocate(bytes));
    for (int i = 0; i < MANY; i++)
        waiting[i] = cia_allocate(bytes);
    for (int i = 0; i < MANY; i++)
        cia_free(waiting[i]);
    magazine = &heap_here()->magazines->own->of_class[size_class_of(bytes)];
    ck_assert_uint_gt(magazine_cached(magazine), 100);
    return magazine;
}

START_TEST(what_waits_in_a_magazine_that_is_not_used_goes_home)
{
    enum { IDLE_BYTES = 300, USED_BYTES = 500 };
    struct magazine *idle, *used;

    stay_on_cpu(sched_getcpu());
    used = full_magazine_of(USED_BYTES);
    idle = full_magazine_of(IDLE_BYTES);
    for (int i = 0; i <= DECAY_STEPS; i++) { /* a quarter of that, and the first look */
        ck_assert(i >= DECAY_STEPS / 4 || magazine_cached(idle) > 100);
        cia_free(cia_allocate(USED_BYTES));
        ck_assert_uint_gt(magazine_cached(used), 0);
        clock_milliseconds += STEP + 1;
        housekeeping_tick();
    }
    ck_assert_uint_eq(magazine_cached(idle), 0);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

static void keep_house(int steps)
{
    for (int i = 0; i < steps; i++) {
        clock_milliseconds += STEP + 1;
        housekeeping_tick();
    }
}

START_TEST(the_child_of_a_vfork_takes_no_magazines_and_does_no_housekeeping)
{
    struct magazine *magazine;
    ptrdiff_t area;

    stay_on_cpu(sched_getcpu());
    magazine = full_magazine_of(300);
    area = magazine_thread_area;
    magazine_thread_area = MAGAZINE_AREA_VFORKED; /* as vfork leaves it in the child */
    keep_house(2 * DECAY_STEPS);
    ck_assert(!magazines_revoke(ALL_CPUS));
    ck_assert_uint_gt(magazine_cached(magazine), 100);
    magazine_thread_area = area;
    keep_house(2 * DECAY_STEPS);
    ck_assert_uint_eq(magazine_cached(magazine), 0);
}
END_TEST

START_TEST(a_tick_before_its_time_does_nothing)
{
    stay_on_cpu(sched_getcpu());
    cia_free(cia_allocate(1));
    clock_milliseconds += STEP + 1;
    ck_assert(housekeeping_tick());
    ck_assert(!housekeeping_tick());
    clock_milliseconds += STEP / ALL_HEAPS;
    ck_assert(!housekeeping_tick());
    clock_milliseconds += STEP + 1;
    ck_assert(housekeeping_tick());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia decay");
    TCase *tests = tcase_create("decay");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, what_came_at_one_moment_is_due_in_equal_parts);
    tcase_add_test(tests, what_was_not_given_back_stays_due);
    tcase_add_test(tests, pages_in_use_again_are_not_due);
    tcase_add_test(tests, pages_that_nobody_looked_at_for_the_decay_time_are_due_at_once);
    tcase_add_test(tests, freed_pages_go_back_little_by_little_while_the_program_goes_on);
    tcase_add_test(tests, freed_pages_go_back_while_the_program_only_frees);
    tcase_add_test(tests, pages_that_are_wanted_again_in_time_stay);
    tcase_add_test(tests, with_a_decay_time_of_never_pages_stay_until_a_trim);
    tcase_add_test(tests, with_a_decay_time_of_0_pages_go_back_when_they_are_freed);
    tcase_add_test(tests, a_call_gives_no_more_than_4_MiB_back);
    tcase_add_test(tests, a_sub_heap_that_nobody_comes_by_gives_its_pages_back);
    tcase_add_test(tests, a_sub_heap_that_nobody_comes_by_gives_its_idle_runs_back);
    tcase_add_test(tests, a_sub_heap_gives_back_the_runs_that_its_own_cpu_freed_last);
    tcase_add_test(tests, a_purge_looks_at_no_chunk_without_dirty_pages);
    tcase_add_test(tests, the_chunk_that_changed_longest_ago_is_purged_first_and_until_it_is_clean);
    tcase_add_test(tests, pages_that_the_kernel_refuses_keep_no_others_back);
    tcase_add_test(tests, a_chunk_is_to_be_purged_while_it_has_dirty_pages_and_no_work);
    tcase_add_test(tests, a_trim_finds_idle_runs_whatever_it_purges);
    tcase_add_test(tests, a_trim_gives_back_what_comes_to_a_chunk_of_which_pages_are_due);
    tcase_add_test(tests, a_trim_leaves_no_idle_run_whatever_came_before);
    tcase_add_test(tests, a_sub_heap_that_somebody_holds_is_passed_by);
    tcase_add_test(tests, what_waits_in_a_magazine_that_is_not_used_goes_home);
    tcase_add_test(tests, the_child_of_a_vfork_takes_no_magazines_and_does_no_housekeeping);
    tcase_add_test(tests, a_tick_before_its_time_does_nothing);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
