/*
 * SPDX-License-Identifier: MIT
 *
 * Every block is aligned to 16 bytes, as the ABI says of max_align_t, and to what was asked.
 */
#include "expect.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

static void every_block_is_aligned_to_16_bytes(void)
{
    void *kept = NULL;

    for (size_t size = 0; size < 70000; size = size < 5000 ? size + 1 : size + 97) {
        void *plain = malloc(size), *zeroed = calloc(size, 1), *moved = realloc(kept, size + 1);
        EXPECT(is_aligned(plain, 16) && is_aligned(zeroed, 16) && is_aligned(moved, 16));
        free(plain);
        free(zeroed);
        kept = moved;
    }
    free(kept);
    for (size_t size = 1 << 17; size <= 1 << 25; size = size * 2 + 1) {
        void *plain = malloc(size);
        EXPECT(plain != NULL && is_aligned(plain, 16));
        free(plain);
    }
}

/* Several live at once, so that alignment does not come from a fresh mapping alone. */
static void blocks_are_aligned_as_asked_and_keep_apart(size_t alignment)
{
    enum { BLOCKS = 6 };
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4096, 5000, 100000, 1 << 20};
    char *blocks[BLOCKS];

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < BLOCKS; i++) {
            void *block = NULL;
            if (i % 3 == 0)
                block = memalign(alignment, sizes[s]);
            else if (i % 3 == 1)
                block = aligned_alloc(alignment, sizes[s]);
            else
                EXPECT(posix_memalign(&block, alignment < 8 ? 8 : alignment, sizes[s]) == 0);
            EXPECT(block != NULL && is_aligned(block, alignment) && is_aligned(block, 16));
            EXPECT(malloc_usable_size(block) >= sizes[s]);
            blocks[i] = block;
            fill_pattern(block, 0, sizes[s], (uint64_t)i);
        }
        for (int i = 0; i < BLOCKS; i++) {
            EXPECT(holds_pattern(blocks[i], 0, sizes[s], (uint64_t)i));
            free(blocks[i]);
        }
    }
}

/* memalign(3) says a power of two; glibc has always rounded up, and programs rely on it. */
static void memalign_rounds_an_odd_alignment_up_to_the_next_power_of_two(void)
{
    static const size_t odd[][2] = {{0, 16},       {1, 16},         {3, 16},      {17, 32},
                                    {24, 32},      {48, 64},        {65, 128},    {100, 128},
                                    {192, 256},    {1000, 1024},    {4095, 4096}, {4097, 8192},
                                    {9000, 16384}, {100000, 131072}};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        for (size_t size = 0; size < 10000; size = size * 2 + 1) {
            void *block = memalign(odd[i][0], size);
            EXPECT(block != NULL && is_aligned(block, odd[i][1]));
            free(block);
        }
}

static void valloc_and_pvalloc_align_to_the_page_and_pvalloc_fills_it(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t size = 0; size < 5 * page; size = size * 2 + 1) {
        void *block = valloc(size), *whole = pvalloc(size);
        size_t rounded = (size + page - 1) / page * page;
        EXPECT(block != NULL && is_aligned(block, page) && malloc_usable_size(block) >= size);
        EXPECT(whole != NULL && is_aligned(whole, page) && malloc_usable_size(whole) >= rounded);
        memset(whole, 1, rounded);
        free(block);
        free(whole);
    }
}

static void an_aligned_block_can_be_reallocated_and_keeps_its_contents(void)
{
    for (size_t alignment = 32; alignment <= 1 << 20; alignment *= 8)
        for (size_t size = 10; size < 100000; size = size * 3 + 1) {
            char *block = memalign(alignment, size);
            fill_pattern(block, 0, size, alignment);
            block = realloc(block, size * 2);
            EXPECT(block != NULL && holds_pattern(block, 0, size, alignment));
            block = realloc(block, size / 2 + 1);
            EXPECT(block != NULL && holds_pattern(block, 0, size / 2 + 1, alignment));
            free(block);
        }
}

int main(void)
{
    every_block_is_aligned_to_16_bytes();
    for (size_t alignment = 1; alignment <= 1 << 25; alignment *= 2)
        blocks_are_aligned_as_asked_and_keep_apart(alignment);
    memalign_rounds_an_odd_alignment_up_to_the_next_power_of_two();
    valloc_and_pvalloc_align_to_the_page_and_pvalloc_fills_it();
    an_aligned_block_can_be_reallocated_and_keeps_its_contents();
    return 0;
}
