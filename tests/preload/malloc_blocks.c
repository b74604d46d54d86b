/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of size zero, usable sizes, zeroed blocks, and what realloc keeps.
 */
#include "expect.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

static void a_block_of_no_bytes_is_a_block_of_its_own(void)
{
    enum { BLOCKS = 400 };
    void *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        switch (i % 4) {
        case 0:
            blocks[i] = malloc(0);
            break;
        case 1:
            blocks[i] = calloc(0, 8);
            break;
        case 2:
            blocks[i] = calloc(8, 0);
            break;
        default:
            blocks[i] = realloc(NULL, 0);
            break;
        }
        EXPECT(blocks[i] != NULL);
        for (int j = 0; j < i; j++)
            EXPECT(blocks[i] != blocks[j]);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void null_is_no_block_and_may_be_freed_and_asked(void)
{
    free(NULL);
    EXPECT(malloc_usable_size(NULL) == 0);
}

/* If it did not free, 40 GB would be in use by the end, and the limit is 4 GiB. */
static void realloc_to_nothing_frees_and_returns_null(void)
{
    struct rlimit before, limit;
    size_t rounds = 0;

    EXPECT(getrlimit(RLIMIT_AS, &before) == 0);
    limit = before;
    limit.rlim_cur = (rlim_t)4 << 30;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    for (size_t size = 1; rounds < 400000; size = size % 200000 + 511, rounds++) {
        void *block = malloc(size);
        EXPECT(block != NULL);
        errno = 0;
        EXPECT(realloc(block, 0) == NULL);
        EXPECT(errno == 0);
    }
    EXPECT(setrlimit(RLIMIT_AS, &before) == 0);
}

/* Neighbours are filled to the last usable byte, and none is in the other's. */
static void all_usable_bytes_are_the_blocks_own(void)
{
    enum { NEIGHBOURS = 5 };
    char *blocks[NEIGHBOURS];
    size_t usable[NEIGHBOURS];

    for (size_t size = 0; size < 4 << 20; size = size < 2100 ? size + 1 : size + size / 7) {
        for (int i = 0; i < NEIGHBOURS; i++) {
            blocks[i] = malloc(size);
            EXPECT(blocks[i] != NULL);
            usable[i] = malloc_usable_size(blocks[i]);
            EXPECT(usable[i] >= size);
            fill_pattern(blocks[i], 0, usable[i], size + (size_t)i);
        }
        for (int i = 0; i < NEIGHBOURS; i++) {
            EXPECT(holds_pattern(blocks[i], 0, usable[i], size + (size_t)i));
            free(blocks[i]);
        }
    }
}

static void calloc_is_zero_where_a_dirty_block_was(void)
{
    enum { BLOCKS = 4 };
    char *blocks[BLOCKS];

    for (size_t size = 1; size < 9 << 20; size = size < 2100 ? size + 1 : size + size / 5) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(size);
            memset(blocks[i], 0xa5, malloc_usable_size(blocks[i]));
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = i % 2 ? calloc(size, 1) : calloc(1, size);
            EXPECT(blocks[i] != NULL && is_zero(blocks[i], size));
            memset(blocks[i], 0x5a, size);
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
}

static void realloc_to_the_usable_size_or_the_size_it_has_does_not_move(void)
{
    for (size_t size = 1; size < 2 << 20; size = size < 2100 ? size + 1 : size + size / 9) {
        char *block = malloc(size);
        size_t usable = malloc_usable_size(block);
        fill_pattern(block, 0, size, size);
        EXPECT(realloc(block, usable) == block);
        EXPECT(realloc(block, size) == block);
        EXPECT(malloc_usable_size(block) >= size && holds_pattern(block, 0, size, size));
        free(block);
    }
}

static void realloc_keeps_the_contents_up_to_the_smaller_size(void)
{
    uint64_t seed = 7;
    char *block = realloc(NULL, 1);
    size_t size = 1;

    fill_pattern(block, 0, 1, 1);
    for (int step = 0; step < 3000; step++) {
        size_t wanted = 1 + next_random(&seed) % ((size_t)1 << (1 + next_random(&seed) % 19));
        block = step % 2 ? realloc(block, wanted) : reallocarray(block, wanted, 1);
        EXPECT(block != NULL && malloc_usable_size(block) >= wanted);
        EXPECT(holds_pattern(block, 0, wanted < size ? wanted : size, 1));
        if (wanted > size)
            fill_pattern(block, size, wanted, 1);
        size = wanted;
    }
    free(block);
}

static void large_blocks_grow_and_shrink_with_their_contents(void)
{
    const size_t mebibyte = 1 << 20;
    char *block = NULL;
    size_t size = 0;

    /* The first byte of each page is enough to see a page lost, doubled or moved. */
    for (size_t wanted = mebibyte; wanted <= 64 * mebibyte; wanted *= 2) {
        block = realloc(block, wanted + 123);
        EXPECT(block != NULL);
        for (size_t i = 0; i < size; i += 4096)
            EXPECT(block[i] == (char)pattern_byte(3, i / 4096));
        size = wanted;
        for (size_t i = 0; i < size; i += 4096)
            block[i] = (char)pattern_byte(3, i / 4096);
    }
    for (size_t wanted = 64 * mebibyte; wanted >= 1000; wanted = wanted * 2 / 3) {
        block = realloc(block, wanted);
        EXPECT(block != NULL && malloc_usable_size(block) >= wanted);
        for (size_t i = 0; i < wanted; i += 4096)
            EXPECT(block[i] == (char)pattern_byte(3, i / 4096));
    }
    free(block);
}

int main(void)
{
    a_block_of_no_bytes_is_a_block_of_its_own();
    null_is_no_block_and_may_be_freed_and_asked();
    realloc_to_nothing_frees_and_returns_null();
    all_usable_bytes_are_the_blocks_own();
    calloc_is_zero_where_a_dirty_block_was();
    realloc_to_the_usable_size_or_the_size_it_has_does_not_move();
    realloc_keeps_the_contents_up_to_the_smaller_size();
    large_blocks_grow_and_shrink_with_their_contents();
    return 0;
}
