/*
 * SPDX-License-Identifier: MIT
 *
 * Parts of libbank_malloc on their own: size classes, whose colours a thread gets, simulated
 * frames, heaps without a thread, and the settings with a syntax.
 */
#include "bank_malloc/api/settings.h"
#include "bank_malloc/heap/colours.h"
#include "bank_malloc/heap/heap.h"

#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

START_TEST(a_class_holds_its_sizes_and_wastes_at_most_half_of_them_in_every_chunk_length)
{
    for (unsigned shift = FRAME_SHIFT; shift <= CHUNK_SHIFT_MOST; shift++) {
        size_classes_start(shift);
        ck_assert_uint_eq(size_classes.longest, 1u << (shift - 1));
        ck_assert_uint_le(size_classes.count, CLASSES_MOST);
        for (size_t size = 0; size <= size_classes.longest; size++) {
            uint32_t length = size_classes.size[size_class_of(size)];

            ck_assert_uint_ge(length, size);
            ck_assert_uint_eq(length % BLOCK_ALIGNMENT, 0);
            if (size > 128)
                ck_assert_uint_le(length, size + size / 2 + BLOCK_ALIGNMENT);
        }
    }
}
END_TEST

START_TEST(powers_of_two_are_classes)
{
    size_classes_start(13);
    for (uint32_t size = BLOCK_ALIGNMENT; size <= size_classes.longest; size *= 2)
        ck_assert_uint_eq(size_classes.size[size_class_of(size)], size);
}
END_TEST

static uint32_t only_colour(struct colour_set set)
{
    ck_assert_uint_eq(set.count, 1);
    return set.colour[0];
}

START_TEST(near_deals_the_banks_of_the_nearest_controller_in_turn)
{
    ck_assert(colours_start(NULL, 2, 4, false));
    ck_assert(colours_set_near("0-1/2-3", 4));
    ck_assert_uint_eq(only_colour(colours_of_new_thread(0)), 0);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(1)), 1);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(3)), 4);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(0)), 2);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(0)), 3);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(0)), 0);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(2)), 5);
}
END_TEST

START_TEST(near_has_a_list_for_each_controller_and_no_cpu_that_is_not_there)
{
    static const char *const wrong[] = {"0-3", "0/1/2", "0-1/2-4", "4/", "0/1000000", "0/0", "a/b"};

    ck_assert(colours_start(NULL, 2, 4, false));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!colours_set_near(wrong[i], 4), "'%s' is taken", wrong[i]);
    ck_assert(colours_set_near("0,2/3", 4));
    ck_assert(colours_set_near("/0-3", 4));
    ck_assert_uint_eq(only_colour(colours_of_new_thread(0)), 4);
}
END_TEST

START_TEST(cpu_goes_by_the_cpu_and_thread_by_the_order_of_threads)
{
    ck_assert(colours_start("cpu", 2, 4, false));
    ck_assert_uint_eq(only_colour(colours_of_new_thread(3)), 3);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(13)), 5);
    ck_assert(colours_start("thread", 2, 4, false));
    ck_assert_uint_eq(only_colour(colours_of_new_thread(7)), 2);
    ck_assert_uint_eq(only_colour(colours_of_new_thread(7)), 3);
}
END_TEST

START_TEST(a_list_is_gone_through_thread_by_thread_and_again)
{
    ck_assert(colours_start("0:0-2;1:3,1", 2, 4, false));
    for (int round = 0; round < 2; round++) {
        struct colour_set first = colours_of_new_thread(0), second = colours_of_new_thread(0);

        ck_assert_uint_eq(first.count, 3);
        ck_assert_uint_eq(first.colour[0] + 10u * first.colour[1] + 100u * first.colour[2], 210);
        ck_assert_uint_eq(second.count, 2);
        ck_assert_uint_eq(second.colour[0] + 10u * second.colour[1], 57);
    }
}
END_TEST

START_TEST(a_list_that_is_none_or_names_what_does_not_exist_is_refused)
{
    static const char *const wrong[] = {"",     "0",    "0:",   "2:0",  "0:4",           "0:3-2",
                                        "0:0;", ";0:0", "0:0,", "0:0 ", "99999999999:0", "nearest"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!colours_start(wrong[i], 2, 4, false), "'%s' is taken", wrong[i]);
        ck_assert_uint_eq(colours_of_new_thread(0).count, 1); /* near holds */
    }
}
END_TEST

START_TEST(sets_of_equal_colours_are_one)
{
    static const uint16_t some[] = {1, 5, 6}, others[] = {1, 6, 5};

    ck_assert(colours_start(NULL, 2, 4, false));
    struct colour_set set = colours_intern(some, 3);
    ck_assert_ptr_eq(colours_intern(some, 3).colour, set.colour);
    ck_assert_ptr_ne(colours_intern(others, 3).colour, set.colour);
    ck_assert_ptr_ne(colours_intern(some, 2).colour, set.colour);
    ck_assert_ptr_eq(colours_intern(some, 1).colour, colours_intern(others, 1).colour);
}
END_TEST

static void start_simulated(struct frames *frames, const char *name)
{
    struct dram_map map;
    uint32_t lost;

    ck_assert(dram_map_shipped(&map, name));
    dram_map_restrict(&map, FRAME_SHIFT, &lost, &lost);
    frames_start(frames, &map, true);
}

/* The paper's pool: 64 KiB of each controller in turn, and within it each bank's 8 KiB. */
START_TEST(simulated_frames_are_on_the_controllers_in_turn_and_on_all_banks)
{
    struct frames frames;
    uint16_t colours[64];

    start_simulated(&frames, "tilepro64");
    ck_assert_uint_eq(frames_simulated(&frames, 0), 0);
    ck_assert_uint_eq(frames_simulated(&frames, 1 << 16), (uint64_t)1 << 34);
    ck_assert_uint_eq(frames_simulated(&frames, 3 << 16), (uint64_t)3 << 34);
    ck_assert_uint_eq(frames_simulated(&frames, (4 << 16) + 12345), (1 << 16) + 12345);
    ck_assert(frames_colours(&frames, NULL, 0, 64, 13, colours));
    for (uint32_t chunk = 0; chunk < 64; chunk++)
        ck_assert_uint_eq(colours[chunk], chunk / 8 % 4 * 8 + chunk % 8);
}
END_TEST

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

START_TEST(no_two_simulated_pages_are_one_frame_under_any_shipped_map)
{
    enum { PIECES = 4096 };
    static uint64_t address[PIECES];
    const char *name;

    for (unsigned i = 0; (name = dram_map_shipped_name(i)) != NULL; i++) {
        struct frames frames;

        start_simulated(&frames, name);
        for (uint64_t piece = 0; piece < PIECES; piece++)
            address[piece] = frames_simulated(&frames, piece << 16);
        qsort(address, PIECES, sizeof *address, compare);
        for (int piece = 1; piece < PIECES; piece++)
            ck_assert_msg(address[piece] > address[piece - 1], "%s: twice", name);
    }
}
END_TEST

START_TEST(a_chunk_of_pages_of_several_banks_has_no_colour)
{
    struct frames frames;
    uint16_t colour;

    start_simulated(&frames, "tilepro64");
    ck_assert(frames_colours(&frames, NULL, 0, 1, 14, &colour));
    ck_assert_uint_eq(colour, FRAMES_NO_COLOUR);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* under which the arena gets no memory here */
static struct heap *start_heap(void)
{
    static const uint16_t colour = 0;
    struct frames frames;

    frames_start_unknown(&frames);
    ck_assert(arena_start(&frames, HUGE_PAGE_BYTES));
    size_classes_start(arena.shift);
    ck_assert(colours_start(NULL, 1, 1, false));
    heap_modes = POOL_ALL_MODES;
    struct heap *heap = heap_adopt(colours_intern(&colour, 1));
    ck_assert_ptr_nonnull(heap);
    return heap;
}

/* The heap is a mapping of its own: a look at it ends the test. */
START_TEST(a_sweep_looks_at_heaps_without_a_thread_only_if_a_block_came_back_to_one)
{
    size_t heap_bytes = (sizeof(struct heap) + FRAME_BYTES - 1) & ~(size_t)(FRAME_BYTES - 1);
    struct heap *heap = start_heap();
    void *block = heap_take(heap, size_class_of(100));
    ck_assert_ptr_nonnull(block);
    uint32_t chunk = (uint32_t)arena_find(block);
    heap_abandon(heap);
    ck_assert_int_eq(mprotect(heap, heap_bytes, PROT_NONE), 0);
    heap_sweep(false);
    ck_assert(!pool_is_free(&arena.pool, chunk));
    ck_assert_int_eq(mprotect(heap, heap_bytes, PROT_READ | PROT_WRITE), 0);
    heap_give(NULL, arena_chunk(chunk), block);
    heap_sweep(false);
    ck_assert(pool_is_free(&arena.pool, chunk));
}
END_TEST

enum { SLABS = 3, SLAB_BLOCKS_MOST = 512 };

/* Takes all blocks of three slabs of the heap; returns how many one has. The last slab is the one
   that the heap allocates from. */
static uint32_t fill_slabs(struct heap *heap, void *block[SLABS][SLAB_BLOCKS_MOST])
{
    unsigned class = size_class_of(100);
    uint32_t blocks = (1u << arena.shift) / size_classes.size[class];

    ck_assert_uint_le(blocks, SLAB_BLOCKS_MOST);
    for (int slab = 0; slab < SLABS; slab++) {
        for (uint32_t i = 0; i < blocks; i++) {
            block[slab][i] = heap_take(heap, class);
            ck_assert_ptr_nonnull(block[slab][i]);
            ck_assert_uint_eq(arena_find(block[slab][i]), arena_find(block[slab][0]));
        }
    }
    return blocks;
}

static bool is_in_pool(const void *block)
{
    return pool_is_free(&arena.pool, (uint32_t)arena_find(block));
}

static void free_by(struct heap *heap, void *block)
{
    heap_give(heap, arena_chunk((uint32_t)arena_find(block)), block);
}

START_TEST(a_sweep_takes_the_slabs_that_others_freed_from_a_heap_that_a_thread_has)
{
    static void *block[SLABS][SLAB_BLOCKS_MOST];
    struct heap *heap = start_heap();
    uint32_t blocks = fill_slabs(heap, block);

    for (uint32_t i = 0; i < blocks; i++) {
        free_by(NULL, block[0][i]);
        free_by(NULL, block[2][i]);
        if (i > 0)
            free_by(NULL, block[1][i]);
    }
    heap_sweep(false);
    ck_assert(is_in_pool(block[0][0]));
    ck_assert_msg(!is_in_pool(block[1][0]), "a block of it is in use");
    ck_assert_msg(!is_in_pool(block[2][0]), "the heap allocates from it");
    free_by(NULL, block[1][0]);
    heap_sweep(false);
    ck_assert(is_in_pool(block[1][0]));
}
END_TEST

START_TEST(a_slab_from_which_its_own_thread_frees_is_the_threads_and_not_swept)
{
    static void *block[SLABS][SLAB_BLOCKS_MOST];
    struct heap *heap = start_heap();
    uint32_t blocks = fill_slabs(heap, block);

    free_by(heap, block[0][0]);
    for (uint32_t i = 1; i < blocks; i++)
        free_by(NULL, block[0][i]);
    heap_sweep(false);
    ck_assert(!is_in_pool(block[0][0]));
    /* All of its blocks are had again, each once. */
    for (uint32_t i = 0; i < blocks; i++)
        ck_assert_uint_eq(arena_find(heap_take(heap, size_class_of(100))), arena_find(block[0][0]));
    ck_assert_uint_ne(arena_find(heap_take(heap, size_class_of(100))), arena_find(block[0][0]));
}
END_TEST
#endif

START_TEST(bytes_have_units_of_1024)
{
    static const char *const wrong[] = {
        "", "M", "1MB", "1m", "-1", " 1", "1 ", "0x10", "99999999999999999999", "99999999999T"};
    uint64_t bytes;

    ck_assert(bank_parse_bytes("4096", &bytes) && bytes == 4096);
    ck_assert(bank_parse_bytes("3K", &bytes) && bytes == 3072);
    ck_assert(bank_parse_bytes("64M", &bytes) && bytes == 64 << 20);
    ck_assert(bank_parse_bytes("2T", &bytes) && bytes == (uint64_t)2 << 40);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!bank_parse_bytes(wrong[i], &bytes), "'%s' is taken", wrong[i]);
}
END_TEST

START_TEST(modes_are_a_mask_of_words)
{
    static const char *const wrong[] = {"",           "split,",   ",split",
                                        "none,split", "restrict", "split split"};
    unsigned modes;

    ck_assert(bank_parse_modes("none", &modes) && modes == 0);
    ck_assert(bank_parse_modes("split", &modes) && modes == POOL_SPLIT);
    ck_assert(bank_parse_modes("split,restricted", &modes) &&
              modes == (POOL_SPLIT | POOL_RESTRICTED));
    ck_assert(bank_parse_modes("restricted,unrestricted,split", &modes) && modes == POOL_ALL_MODES);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!bank_parse_modes(wrong[i], &modes), "'%s' is taken", wrong[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bank_parts");
    TCase *tests = tcase_create("parts");

    tcase_add_test(tests,
                   a_class_holds_its_sizes_and_wastes_at_most_half_of_them_in_every_chunk_length);
    tcase_add_test(tests, powers_of_two_are_classes);
    tcase_add_test(tests, near_deals_the_banks_of_the_nearest_controller_in_turn);
    tcase_add_test(tests, near_has_a_list_for_each_controller_and_no_cpu_that_is_not_there);
    tcase_add_test(tests, cpu_goes_by_the_cpu_and_thread_by_the_order_of_threads);
    tcase_add_test(tests, a_list_is_gone_through_thread_by_thread_and_again);
    tcase_add_test(tests, a_list_that_is_none_or_names_what_does_not_exist_is_refused);
    tcase_add_test(tests, sets_of_equal_colours_are_one);
    tcase_add_test(tests, simulated_frames_are_on_the_controllers_in_turn_and_on_all_banks);
    tcase_add_test(tests, no_two_simulated_pages_are_one_frame_under_any_shipped_map);
    tcase_add_test(tests, a_chunk_of_pages_of_several_banks_has_no_colour);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(tests, a_sweep_looks_at_heaps_without_a_thread_only_if_a_block_came_back_to_one);
    tcase_add_test(tests, a_sweep_takes_the_slabs_that_others_freed_from_a_heap_that_a_thread_has);
    tcase_add_test(tests, a_slab_from_which_its_own_thread_frees_is_the_threads_and_not_swept);
#endif
    tcase_add_test(tests, bytes_have_units_of_1024);
    tcase_add_test(tests, modes_are_a_mask_of_words);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
