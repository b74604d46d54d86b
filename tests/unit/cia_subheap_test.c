/*
 * SPDX-License-Identifier: MIT
 *
 * What the allocator promises besides placement: obstructed threads go elsewhere, remote frees come
 * back, memory is given back, misuse ends the process with one line.
 */
#include "base/random.h"
#include "cia_malloc/cpu_cache/fork.h"
#include "cia_malloc/large/large.h"

#include "cia_fixture.h"
#include "run_suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* By the layout of its class: whether a block of the run that the page is in begins at the address.
 */
static bool lies_at_a_start(const struct page_info *info, const char *address)
{
    const struct class_layout *layout = &class_layouts[info->size_class];
    const char *first = page_map_chunk(address)->spans[block_run_page(info)].base;
    uint32_t unit = (uint32_t)((address - first) >> layout->unit_shift);

    if (address < first || (address - first) % (1 << layout->unit_shift) != 0)
        return false;
    struct block_position at = class_layout_locate(layout, unit);
    return at.span < layout->run_spans && at.block < layout->span_blocks &&
           at.span * layout->span_units + at.block * layout->units == unit;
}

START_TEST(a_block_begins_where_its_class_lays_one_out_and_nowhere_else)
{
    enum { EACH = 200, LENGTHS = 2112 / 16, CHUNKS_MOST = 64 };
    const struct chunk *seen[CHUNKS_MOST];
    uint32_t chunks = 0, starts = 0;

    for (size_t i = 0; i < LENGTHS * EACH; i++) {
        char *block = cia_allocate((i % LENGTHS + 1) * 16 - 8);
        const struct chunk *chunk = page_map_chunk(block);
        uint32_t k = 0;

        ck_assert(lies_at_a_start(block_page(chunk, block), block));
        while (k < chunks && seen[k] != chunk)
            k++;
        ck_assert_uint_lt(k, CHUNKS_MOST);
        seen[k] = chunk;
        chunks += k == chunks;
    }
    for (uint32_t k = 0; k < chunks; k++) {
        for (const char *byte = seen[k]->base; byte < seen[k]->base + CHUNK_BYTES; byte++) {
            const struct page_info *info = block_page(seen[k], byte);

            if (info->size_class >= SIZE_CLASS_COUNT || !class_is_cached(info->size_class)) {
                byte += PAGE_BYTES - 1;
                continue;
            }
            if (block_begins(info, byte) != lies_at_a_start(info, byte))
                ck_abort_msg("%p of class %u", (const void *)byte, info->size_class);
            starts += block_begins(info, byte);
        }
    }
    ck_assert_uint_ge(starts, LENGTHS * EACH);
}
END_TEST

static void stay_on_one_cpu(void)
{
    stay_on_cpu(sched_getcpu());
}

/* Before the first call: else what is not in use goes, of a test that is kept waiting for the decay
   time. */
static void let_nothing_decay(void)
{
    setenv("CIA_DECAY_MS", "-1", 1);
}

/* More than wait in any magazine. */
enum { WAITING = 2 * MAGAZINE_COLOURS };

START_TEST(an_obstructed_thread_allocates_elsewhere_and_frees_remotely)
{
    stay_on_one_cpu();
    void *before = cia_allocate(100);
    void *during[WAITING + 1];
    struct subheap *heap = heap_here();

    /* A holder that never moves, as a stopped thread would be. */
    ck_assert(subheap_try_lock(heap));
    for (int i = 0; i <= WAITING; i++) /* the magazine may have some first */
        ck_assert_ptr_nonnull(during[i] = cia_allocate(100));
    ck_assert_ptr_ne(page_map_chunk(during[WAITING])->owner, heap);
    cia_free(before);
    for (int i = 0; i <= WAITING; i++)
        cia_free(during[i]);
    subheap_unlock(heap);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

static const struct subheap *owner_of(const void *block)
{
    return page_map_chunk(block)->owner;
}

/* Enough of a class for a magazine, on the CPU; then one more. */
static void *block_on_cpu(int cpu)
{
    void *some[WAITING];

    stay_on_cpu(cpu);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < WAITING; i++)
            ck_assert_ptr_nonnull(some[i] = cia_allocate(100));
        for (int i = 0; i < WAITING; i++)
            cia_free(some[i]);
    }
    return cia_allocate(100);
}

START_TEST(a_process_with_one_thread_leaves_no_memory_behind_when_it_moves_to_another_cpu)
{
    let_nothing_decay(); /* magazines included */
    stay_on_cpu(0);
    make_first_call();
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || !magazines_use_sequences())
        return;
    void *first = block_on_cpu(0), *second = block_on_cpu(1), *large = cia_allocate(100000);

    ck_assert_ptr_ne(heap_table[0], heap_table[1]);
    ck_assert_ptr_eq(owner_of(first), heap_table[0]);
    ck_assert_ptr_eq(owner_of(second), heap_table[0]);
    ck_assert_ptr_eq(owner_of(large), heap_table[0]);
    ck_assert_uint_eq(heap_table[1]->pages.chunk_count, 0);
    /* And each CPU has a cache all the same. */
    ck_assert_uint_gt(
        magazine_cached(&heap_table[1]->magazines->own->of_class[size_class_for(100)]), 0);
    cia_free(first);
    cia_free(second);
    cia_free(large);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(with_several_threads_each_cpu_allocates_from_its_own_sub_heap)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    void *first = block_on_cpu(0);

    have_another_thread();
    void *second = block_on_cpu(1), *large = cia_allocate(100000);
    ck_assert_ptr_eq(owner_of(first), heap_table[0]);
    ck_assert_ptr_eq(owner_of(large), heap_table[1]);
    cia_free(first);
    cia_free(second);
    cia_free(large);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(many_stopped_holders_delay_nobody)
{
    uint32_t held = 0;

    stay_on_one_cpu();
    cia_free(cia_allocate(1));
    ck_assert(subheap_try_lock(heap_here()));
    for (; held < 40; held++) {
        struct subheap *heap = heap_acquire();

        ck_assert_ptr_nonnull(heap); /* stays locked */
    }
    void *block = cia_allocate(1000);
    ck_assert_ptr_nonnull(block);
    cia_free(block);
}
END_TEST

START_TEST(a_remote_free_reaches_its_owner_once)
{
    void *blocks[1000];

    stay_on_one_cpu();
    for (int i = 0; i < 1000; i++)
        blocks[i] = cia_allocate(200);
    struct subheap *heap = heap_here();
    ck_assert(subheap_try_lock(heap)); /* every free is remote */
    for (int i = 0; i < 1000; i++)
        cia_free(blocks[i]);
    subheap_unlock(heap);
    ck_assert_ptr_nonnull(atomic_load(&heap->inbox.newest));
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

/* Producers hand blocks to consumers through slots; whoever takes one checks and frees it. */
enum { SLOTS = 256, STEPS = 60000 };
static _Atomic(unsigned char *) slots[SLOTS];
static atomic_uint corrupted;

static void *exchange_blocks(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;

    for (int step = 0; step < STEPS; step++) {
        uint32_t bytes = 8 + random_below(&seed, step % 64 == 0 ? 100000 : 1500);
        unsigned char *block = cia_allocate(bytes);

        if (block == NULL) {
            atomic_fetch_add(&corrupted, 1);
            return NULL;
        }
        memcpy(block, &bytes, sizeof bytes);
        block[bytes - 1] = (unsigned char)(bytes * 7);
        block = atomic_exchange(&slots[random_below(&seed, SLOTS)], block);
        if (block != NULL) {
            memcpy(&bytes, block, sizeof bytes);
            if (bytes > 100008 || (bytes > 8 && block[bytes - 1] != (unsigned char)(bytes * 7)))
                atomic_fetch_add(&corrupted, 1);
            cia_free(block);
        }
    }
    return NULL;
}

START_TEST(blocks_passed_between_threads_stay_whole_and_come_back)
{
    pthread_t threads[EXCHANGERS];

    start_exchangers(threads, exchange_blocks);
    join_exchangers(threads);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i] != NULL)
            cia_free(slots[i]);
    }
    ck_assert_uint_eq(corrupted, 0);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(a_producer_and_a_consumer_do_not_grow_memory)
{
    struct cia_totals early, late;

    stay_on_one_cpu();
    cia_free(cia_allocate(1));
    struct subheap *heap = heap_here();
    for (int round = 0; round < 400; round++) {
        void *blocks[500];

        for (int i = 0; i < 500; i++)
            blocks[i] = cia_allocate(128);
        ck_assert(subheap_try_lock(heap)); /* the consumer is on another CPU */
        for (int i = 0; i < 500; i++)
            cia_free(blocks[i]);
        subheap_unlock(heap);
        if (round == 20)
            early = cia_totals_read();
    }
    late = cia_totals_read();
    ck_assert_uint_eq(late.mapped_bytes, early.mapped_bytes);
}
END_TEST

START_TEST(trim_gives_back_everything_that_is_not_in_use)
{
    static void *blocks[20000];
    struct cia_totals full, empty;
    bool trimmed;

    stay_on_one_cpu(); /* each CPU that was used keeps a chunk */
    for (int i = 0; i < 20000; i++)
        memset(blocks[i] = cia_allocate(1000 + i % 5000), 1, 1000);
    full = cia_totals_read();
    for (int i = 0; i < 20000; i++)
        cia_free(blocks[i]);
    trimmed = cia_trim();
    empty = cia_totals_read();
    ck_assert(trimmed);
    ck_assert_uint_eq(empty.live_blocks, 0);
    ck_assert_uint_eq(empty.run_bytes, 0);
    ck_assert_uint_eq(empty.dirty_bytes, 0);
    ck_assert_uint_le(empty.chunks, empty.subheaps);
    ck_assert_uint_lt(empty.mapped_bytes, full.mapped_bytes / 4);
}
END_TEST

START_TEST(a_short_first_chunk_counts_as_long_as_it_is)
{
    struct cia_totals first, full;

    let_nothing_decay();
    stay_on_one_cpu();
    make_first_call();
    first = cia_totals_read();
    ck_assert_uint_eq(first.chunks, 1);
    ck_assert_uint_gt(first.chunk_bytes, 0);
    ck_assert_uint_lt(first.chunk_bytes, CHUNK_BYTES);
    for (uint32_t chunks = 1; chunks < 3; chunks = full.chunks) {
        ck_assert_ptr_nonnull(cia_allocate(60000));
        full = cia_totals_read();
    }
    ck_assert_uint_eq(full.chunk_bytes, first.chunk_bytes + 2 * (size_t)CHUNK_BYTES);
}
END_TEST

/* A sanitizer's shadow memory stays resident when the memory that it shadows goes, and needs more
   address space than a limit would leave. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void read_statm(unsigned long *total, unsigned long *resident)
{
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu %lu", total, resident), 2);
    fclose(file);
}

static size_t resident_pages(void)
{
    unsigned long total, resident;

    read_statm(&total, &resident);
    return resident;
}

START_TEST(freed_memory_leaves_the_process_without_a_trim)
{
    enum { COUNT = 150000, BYTES = 2000 };
    static void *blocks[COUNT];

    stay_on_one_cpu();
    size_t before = resident_pages();

    for (int i = 0; i < COUNT; i++)
        memset(blocks[i] = cia_allocate(BYTES), 1, BYTES);
    ck_assert_uint_gt(resident_pages() - before, COUNT * BYTES / PAGE_BYTES);
    for (int i = 0; i < COUNT; i++)
        cia_free(blocks[i]);
    /* At once; the 128 MiB that a sub-heap may keep go in their time, see cia_decay_test. */
    ck_assert_uint_lt(resident_pages() - before, (136 << 20) / PAGE_BYTES);
}
END_TEST

START_TEST(with_no_memory_left_freed_blocks_of_every_length_can_be_had_again)
{
    static const size_t lengths[] = {500, 5000, 65000, 100000, 300000, 500000};
    enum { MOST = 400000 };
    static void *blocks[MOST];

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct rlimit limit, old;
        unsigned long total, resident;
        int count = 0, freed = 0;

        cia_free(cia_allocate(lengths[i]));
        getrlimit(RLIMIT_AS, &old);
        limit = old;
        read_statm(&total, &resident);
        limit.rlim_cur = total * PAGE_BYTES + ((size_t)60 << 20);
        setrlimit(RLIMIT_AS, &limit);
        while (count < MOST && (blocks[count] = cia_allocate(lengths[i])) != NULL)
            count++;
        for (int n = 0; n < count; n += 4, freed++)
            cia_free(blocks[n]);
        for (int n = 0; n < count; n += 4) {
            blocks[n] = cia_allocate(lengths[i]);
            freed -= blocks[n] != NULL;
        }
        setrlimit(RLIMIT_AS, &old);
        ck_assert_int_gt(count, 16);
        /* Of large ones nearly all: two that lay side by side left room for two again, but not if
           the first of these takes a page more for its colour. */
        ck_assert_msg(freed <= (lengths[i] > SIZE_CLASS_LARGEST ? count / 100 : 0),
                      "%d blocks of %zu bytes not to be had again", freed, lengths[i]);
        for (int n = 0; n < count; n++)
            cia_free(blocks[n]);
    }
}
END_TEST
#endif

static void *grow_huge_blocks(void *argument)
{
    (void)argument;
    for (int round = 0; round < 100; round++) {
        char *block = cia_allocate(1 << 20);

        for (size_t bytes = 2 << 20; bytes <= 40u << 20; bytes += 6 << 20) {
            block = cia_reallocate(block, bytes);
            if (block == NULL)
                return "out of memory";
#ifndef __SANITIZE_THREAD__ /* it does not follow mremap, and takes the pages for another thread's \
                             */
            block[bytes - 1] = 1;
#endif
        }
        cia_free(block);
    }
    return NULL;
}

static void *map_huge_blocks(void *argument)
{
    (void)argument;
    for (int round = 0; round < 500; round++) {
        void *blocks[8];

        for (size_t i = 0; i < 8; i++)
            blocks[i] = cia_allocate((600 << 10) + i * 900000);
        for (size_t i = 0; i < 8; i++)
            cia_free(blocks[i]);
    }
    return NULL;
}

/* A place that one block leaves may be another's a moment later: cia_free finds out whose it is. */
START_TEST(huge_blocks_that_move_do_not_disturb_those_that_come)
{
    pthread_t threads[8];

    make_first_call();
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL,
                                        i % 2 == 0 ? grow_huge_blocks : map_huge_blocks, NULL),
                         0);
    for (int i = 0; i < 8; i++) {
        void *complaint;

        pthread_join(threads[i], &complaint);
        ck_assert_ptr_null(complaint);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

static void *free_from_another_sub_heap(void *block)
{
    cia_free(block);
    return NULL;
}

START_TEST(huge_blocks_freed_by_other_threads_leave_nothing_behind)
{
    struct cia_totals early, late;

    let_nothing_decay();
    stay_on_one_cpu();
    for (int round = 0; round < 400; round++) {
        pthread_t thread;
        void *block = cia_allocate(1 << 20);
        struct subheap *heap = heap_here();
        bool locked = subheap_try_lock(heap); /* the other thread uses another sub-heap */

        ck_assert_int_eq(pthread_create(&thread, NULL, free_from_another_sub_heap, block), 0);
        pthread_join(thread, NULL);
        if (locked)
            subheap_unlock(heap);
        if (round == 50)
            early = cia_totals_read();
    }
    late = cia_totals_read();
    ck_assert_uint_le(late.mapped_bytes, early.mapped_bytes + (1 << 16));
}
END_TEST

START_TEST(more_than_four_billion_live_blocks_are_counted)
{
    const uint64_t many = (uint64_t)1 << 32;

    stay_on_one_cpu();
    make_first_call();
    void *block = cia_allocate(100);
    struct class_heap *class_heap = &heap_here()->classes[size_class_for(100)];
    uint64_t live = class_heap->live;
    class_heap->live += many;
    class_heap->capacity += many;
    cia_free(block);
    ck_assert_uint_eq(class_heap->live, many + live - 1);
    block = cia_allocate(100);
    ck_assert_uint_eq(class_heap->live, many + live);
    class_heap->live -= many;
    class_heap->capacity -= many;
    cia_free(block);
}
END_TEST

START_TEST(shrinking_a_huge_block_gives_its_tail_back)
{
    void *block = cia_allocate(64 << 20);

    block = cia_reallocate(block, 40 << 20);
    ck_assert_uint_le(cia_totals_read().huge_bytes, (40 << 20) + 4 * PAGE_BYTES);
    cia_free(block);
}
END_TEST

START_TEST(recycled_memory_is_zeroed_and_fresh_memory_reads_as_zero)
{
    for (size_t bytes = 1; bytes < 3000000; bytes += bytes / 3 + 1) {
        for (int round = 0; round < 3; round++) {
            unsigned char *block = cia_allocate_zeroed(bytes);
            size_t dirty = 0;

            for (size_t i = 0; i < bytes; i++)
                dirty += block[i];
            ck_assert_uint_eq(dirty, 0);
            memset(block, 0xff, cia_usable(block));
            cia_free(block);
        }
    }
}
END_TEST

START_TEST(aligned_blocks_are_aligned_and_free_like_others)
{
    for (size_t alignment = 1; alignment <= (size_t)1 << 24; alignment *= 2) {
        for (size_t bytes = 0; bytes < 2000000; bytes = bytes * 3 + 1) {
            char *first = cia_allocate_aligned(alignment, bytes);
            char *second = cia_allocate_aligned(alignment, bytes);

            ck_assert_ptr_nonnull(first);
            ck_assert_uint_eq((uintptr_t)first % alignment, 0);
            ck_assert_uint_eq((uintptr_t)second % alignment, 0);
            ck_assert_uint_ge(cia_usable(first), bytes);
            memset(first, 1, bytes);
            memset(second, 2, bytes);
            ck_assert(bytes == 0 || (first[0] == 1 && first[bytes - 1] == 1));
            cia_free(first);
            cia_free(second);
        }
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(aligned_blocks_spread_over_the_sets_that_their_alignment_leaves)
{
    stay_on_one_cpu();
    for (uint32_t alignment = 128; alignment <= 1024; alignment *= 2) {
        uint32_t stride = alignment / LINE_BYTES, possible = 64 / stride;
        uint32_t in_set[64] = {0};

        for (uint32_t i = 0; i < 256; i++) {
            void *block = cia_allocate_aligned(alignment, alignment);

            in_set[(uintptr_t)block / LINE_BYTES % 64]++;
        }
        for (uint32_t set = 0; set < 64; set += stride)
            ck_assert_uint_le(in_set[set], 2 * 256 / possible);
    }
}
END_TEST

START_TEST(reallocation_keeps_the_contents_at_every_size)
{
    uint64_t seed = 5;

    for (int round = 0; round < 300; round++) {
        size_t bytes = 1 + random_below(&seed, round % 3 == 0 ? 3000000 : 5000);
        unsigned char *block = cia_allocate(bytes);

        for (size_t i = 0; i < bytes; i++)
            block[i] = (unsigned char)(i * 31);
        for (int step = 0; step < 4; step++) {
            size_t larger = 1 + random_below(&seed, round % 3 == 0 ? 4000000 : 9000);
            bool same = true;

            block = cia_reallocate(block, larger);
            ck_assert_ptr_nonnull(block);
            bytes = larger < bytes ? larger : bytes;
            for (size_t i = 0; i < bytes; i++)
                same &= block[i] == (unsigned char)(i * 31);
            ck_assert(same);
        }
        cia_free(block);
    }
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(the_shortest_block_is_never_moved_to_another_as_short)
{
    void *block = cia_allocate(64);

    ck_assert_ptr_eq(cia_reallocate(block, 1), block);
    ck_assert_ptr_eq(cia_reallocate(block, 64), block);
    cia_free(block);
}
END_TEST

START_TEST(a_block_is_not_moved_within_its_usable_size)
{
    for (size_t bytes = 1; bytes < 2000000; bytes += bytes / 2 + 1) {
        void *block = cia_allocate(bytes);

        ck_assert_ptr_eq(cia_reallocate(block, cia_usable(block)), block);
        cia_free(block);
    }
}
END_TEST

static void allocate_in_handler(int signal_number)
{
    (void)signal_number;
    for (size_t bytes = 1; bytes < 100000; bytes *= 7)
        cia_free(cia_allocate(bytes));
}

START_TEST(a_signal_handler_may_allocate_at_any_point_of_an_allocation)
{
    stay_on_one_cpu();
    cia_free(cia_allocate(1));
    /* The worst point: the interrupted thread holds its sub-heap. */
    signal(SIGUSR1, allocate_in_handler);
    ck_assert(subheap_try_lock(heap_here()));
    raise(SIGUSR1);
    subheap_unlock(heap_here());
    allocate_in_handler(0);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(a_child_of_fork_allocates_although_a_holder_never_lets_go)
{
    stay_on_one_cpu();
    cia_free(cia_allocate(1));
    fork_register_handlers();
    ck_assert(subheap_try_lock(heap_here()));
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++)
            cia_free(cia_allocate((size_t)i * 10));
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    subheap_unlock(heap_here());
}
END_TEST

START_TEST(fork_leaves_no_sub_heap_locked)
{
    stay_on_one_cpu();
    cia_free(cia_allocate(1));
    fork_register_handlers();
    pid_t child = fork();
    if (child == 0)
        _exit(subheap_try_lock(heap_here()) ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(subheap_try_lock(heap_here()));
}
END_TEST

START_TEST(the_child_of_a_fork_has_no_thread_that_sleeps_for_a_sub_heap)
{
    stay_on_one_cpu();
    cia_free(cia_allocate(1));
    fork_register_handlers();
    atomic_store(&heap_here()->sleepers, 3);
    pid_t child = fork();
    if (child == 0)
        _exit((int)atomic_load(&heap_here()->sleepers));
    atomic_store(&heap_here()->sleepers, 0);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/*
 * Of each type, spans whose one free block is of a colour that has most of the live blocks lie
 * before spans of which nearly all is free: as they do when a program frees those last.
 */
START_TEST(spans_without_an_eligible_block_hide_no_others)
{
    enum { CLASS_LINES = 293, OVERFULL = 8, SPARSE = 64, RUNS_MORE = 4, PAIRS = 1000 };
    static struct {
        char *block;
        uint32_t number; /* of its span, among those of its type */
        uint64_t bit;
    } all[(OVERFULL + SPARSE) * COLOURS_GREATEST];
    static const struct span *spans[TYPES_GREATEST][OVERFULL + SPARSE];
    uint32_t spans_of[TYPES_GREATEST] = {0}, freed = 0;

    let_nothing_decay();
    stay_on_one_cpu();
    cia_free(cia_allocate(CLASS_LINES * LINE_BYTES));
    struct subheap *heap = heap_here();
    struct class_heap *class_heap = &heap->classes[size_class_of(CLASS_LINES * LINE_BYTES)];
    const struct class_layout *layout = &class_layouts[class_heap->size_class];
    uint32_t count = class_heap_slots(class_heap) * (OVERFULL + SPARSE);
    for (uint32_t i = 0; i < count; i++) {
        all[i].block = cia_allocate(CLASS_LINES * LINE_BYTES);
        struct block at = block_at(page_map_chunk(all[i].block), all[i].block);
        const struct span *span = &at.chunk->spans[at.span];
        uint32_t number = 0;

        while (number < spans_of[span->type] && spans[span->type][number] != span)
            number++;
        ck_assert_uint_lt(number, OVERFULL + SPARSE);
        if (number == spans_of[span->type])
            spans[span->type][spans_of[span->type]++] = span;
        all[i].number = number;
        all[i].bit = at.bit;
    }
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < count; i++) {
            bool sparse = all[i].number >= OVERFULL;

            if (turn == 0 ? sparse && all[i].bit != 1 : !sparse && all[i].bit == 1) {
                cia_free(all[i].block);
                freed++;
            }
        }
    }
    while (class_heap_eligible(class_heap) != 0) {
        cia_allocate(CLASS_LINES * LINE_BYTES);
        freed--;
    }
    uint32_t most =
        heap->pages.used_pages + RUNS_MORE * class_layout_run_pages(layout, layout->types - 1u);
    for (uint32_t i = 0; i < PAIRS; i++) {
        cia_free(cia_allocate(CLASS_LINES * LINE_BYTES));
        ck_assert_uint_le(heap->pages.used_pages, most);
    }
    for (uint32_t i = 0; i < freed * 3 / 4; i++)
        cia_allocate(CLASS_LINES * LINE_BYTES);
    ck_assert_uint_le(heap->pages.used_pages, most);
}
END_TEST

/* Misuse: each of these ends in SIGABRT. */
START_TEST(a_double_free_aborts)
{
    stay_on_one_cpu();
    void *block = cia_allocate(100);

    cia_free(block);
    cia_free(block);
}
END_TEST

START_TEST(a_remote_double_free_aborts)
{
    stay_on_one_cpu();
    void *block = cia_allocate(100);

    ck_assert(subheap_try_lock(heap_here()));
    cia_free(block);
    cia_free(block);
}
END_TEST

START_TEST(a_double_free_of_a_large_block_aborts)
{
    void *block = cia_allocate(100000);

    cia_free(block);
    cia_free(block);
}
END_TEST

START_TEST(freeing_the_inside_of_a_block_aborts)
{
    cia_free((char *)cia_allocate(1000) + 64);
}
END_TEST

START_TEST(freeing_a_misaligned_address_aborts)
{
    cia_free((char *)cia_allocate(1000) + 8);
}
END_TEST

START_TEST(freeing_the_inside_of_a_huge_block_aborts)
{
    cia_free((char *)cia_allocate(10000000) + 4096);
}
END_TEST

START_TEST(freeing_foreign_memory_aborts)
{
    int on_the_stack = 0;

    cia_free(&on_the_stack);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia sub-heaps");
    TCase *tests = tcase_create("subheap");
    TCase *misuse = tcase_create("misuse");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_block_begins_where_its_class_lays_one_out_and_nowhere_else);
    tcase_add_test(tests, an_obstructed_thread_allocates_elsewhere_and_frees_remotely);
    tcase_add_test(tests,
                   a_process_with_one_thread_leaves_no_memory_behind_when_it_moves_to_another_cpu);
    tcase_add_test(tests, with_several_threads_each_cpu_allocates_from_its_own_sub_heap);
    tcase_add_test(tests, many_stopped_holders_delay_nobody);
    tcase_add_test(tests, a_remote_free_reaches_its_owner_once);
    tcase_add_test(tests, blocks_passed_between_threads_stay_whole_and_come_back);
    tcase_add_test(tests, a_producer_and_a_consumer_do_not_grow_memory);
    tcase_add_test(tests, trim_gives_back_everything_that_is_not_in_use);
    tcase_add_test(tests, a_short_first_chunk_counts_as_long_as_it_is);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tests, freed_memory_leaves_the_process_without_a_trim);
    tcase_add_test(tests, with_no_memory_left_freed_blocks_of_every_length_can_be_had_again);
#endif
    tcase_add_test(tests, huge_blocks_that_move_do_not_disturb_those_that_come);
    tcase_add_test(tests, huge_blocks_freed_by_other_threads_leave_nothing_behind);
    tcase_add_test(tests, more_than_four_billion_live_blocks_are_counted);
    tcase_add_test(tests, shrinking_a_huge_block_gives_its_tail_back);
    tcase_add_test(tests, recycled_memory_is_zeroed_and_fresh_memory_reads_as_zero);
    tcase_add_test(tests, aligned_blocks_are_aligned_and_free_like_others);
    tcase_add_test(tests, aligned_blocks_spread_over_the_sets_that_their_alignment_leaves);
    tcase_add_test(tests, reallocation_keeps_the_contents_at_every_size);
    tcase_add_test(tests, the_shortest_block_is_never_moved_to_another_as_short);
    tcase_add_test(tests, a_block_is_not_moved_within_its_usable_size);
    tcase_add_test(tests, a_signal_handler_may_allocate_at_any_point_of_an_allocation);
    tcase_add_test(tests, a_child_of_fork_allocates_although_a_holder_never_lets_go);
    tcase_add_test(tests, fork_leaves_no_sub_heap_locked);
    tcase_add_test(tests, the_child_of_a_fork_has_no_thread_that_sleeps_for_a_sub_heap);
    tcase_add_test(tests, spans_without_an_eligible_block_hide_no_others);
    suite_add_tcase(suite, tests);
    tcase_add_test_raise_signal(misuse, a_double_free_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, a_remote_double_free_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, a_double_free_of_a_large_block_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, freeing_the_inside_of_a_block_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, freeing_a_misaligned_address_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, freeing_the_inside_of_a_huge_block_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, freeing_foreign_memory_aborts, SIGABRT);
    suite_add_tcase(suite, misuse);

    return run_suite(suite);
}
