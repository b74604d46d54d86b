/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks have their pages before they are handed out, also those of memory that was used before,
 * and no more pages than are about to be used. What is populated mincore() tells; nothing here
 * writes to a block before it was asked.
 */
#include "base/random.h"

#include "cia_fixture.h"
#include "run_suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum {
    WHOLE_BYTES = 16 << 10, /* blocks up to here are populated whole */
    BATCH_BYTES = 64 << 10,
};

static void one_cpu_and_small_pages(void)
{
    stay_on_cpu(sched_getcpu());
    /* One page touched would be 512 of them where the kernel gives huge ones unasked. */
    ck_assert_int_eq(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
}

/* How many of the pages with a byte of the range are populated. *pages: of how many. */
static uint32_t populated_pages(const void *address, size_t bytes, uint32_t *pages)
{
    static unsigned char states[CHUNK_PAGES + 1];
    uintptr_t begin = (uintptr_t)address & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)address + bytes + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    uint32_t count = 0;

    *pages = (uint32_t)((end - begin) / PAGE_BYTES);
    ck_assert_uint_le(*pages, sizeof states);
    ck_assert_int_eq(mincore((void *)begin, end - begin, states), 0);
    for (uint32_t i = 0; i < *pages; i++)
        count += states[i] & 1;
    return count;
}

static void has_its_pages(const char *block, size_t bytes)
{
    uint32_t pages, populated;

    if (bytes > WHOLE_BYTES) { /* the first page and the last */
        has_its_pages(block + bytes - 1, 1);
        bytes = 1;
    }
    populated = populated_pages(block, bytes, &pages);
    ck_assert_msg(populated == pages, "%u of %u pages of the block of %zu bytes at %p", populated,
                  pages, bytes, (const void *)block);
}

START_TEST(blocks_that_were_never_used_have_their_pages)
{
    one_cpu_and_small_pages();
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        size_t bytes = size_class_bytes(i);

        /* Past the number from which on the class has a magazine, but for the longest. */
        for (size_t count = bytes <= 4096 ? 3000 : (12 << 20) / bytes; count > 0; count--)
            has_its_pages(cia_allocate(bytes), bytes);
    }
}
END_TEST

START_TEST(aligned_blocks_have_their_pages)
{
    one_cpu_and_small_pages();
    for (size_t alignment = 128; alignment <= 1024; alignment *= 2) {
        for (int i = 0; i < 2000; i++) {
            size_t bytes = 1 + (size_t)i * 4;

            has_its_pages(cia_allocate_aligned(alignment, bytes), bytes);
        }
    }
}
END_TEST

/* The block is all of one byte. */
static bool is_all(const char *block, size_t bytes, char byte)
{
    return bytes == 0 || (block[0] == byte && memcmp(block, block + 1, bytes - 1) == 0);
}

/*
 * Runs of many lengths come and go, so that new ones are carved of pages of which some were used,
 * some populated, and some neither; at times everything is given back. What is written is all ones:
 * what calloc hands out shows whether it took any of that for zero.
 */
START_TEST(blocks_on_pages_used_before_have_their_pages_and_calloc_is_zero)
{
    enum { BLOCKS = 1500, ROUNDS = 30 };
    static char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    uint64_t seed = 1 + (uint64_t)_i;

    printf("seed %" PRIu64 "\n", seed);
    one_cpu_and_small_pages();
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = (size_t)1 << (6 + random_below(&seed, 9)); /* 64 to 16384 */
        uint32_t count = 1 + random_below(&seed, BLOCKS);

        if (count * bytes > 2 << 20)
            count = (uint32_t)((2 << 20) / bytes);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t pages, populated;

            sizes[i] = bytes / 2 + random_below(&seed, (uint32_t)bytes / 2 + 1);
            blocks[i] = cia_allocate_zeroed(sizes[i]);
            populated = populated_pages(blocks[i], sizes[i], &pages);
            ck_assert_msg(populated == pages, "round %d: %u of %u pages of the block of %zu bytes",
                          round, populated, pages, sizes[i]);
            ck_assert_msg(is_all(blocks[i], sizes[i], 0), "round %d: a block of %zu bytes", round,
                          sizes[i]);
            memset(blocks[i], 0xff, sizes[i]);
        }
        for (uint32_t i = 0; i < count; i++)
            cia_free(blocks[i]);
        if (random_below(&seed, 8) == 0)
            cia_trim();
    }
}
END_TEST

START_TEST(a_trim_takes_pages_among_live_blocks_and_what_comes_there_next_is_zero)
{
    enum { BLOCKS = 3000, ROUNDS = 12 };
    static char *blocks[BLOCKS];
    uint64_t seed = 100 + (uint64_t)_i;

    printf("seed %" PRIu64 "\n", seed);
    one_cpu_and_small_pages();
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = ((size_t)1 << (4 + random_below(&seed, 12))) + random_below(&seed, 500);
        uint32_t count = (uint32_t)((4 << 20) / bytes), live = 0;

        count = count < BLOCKS ? count : BLOCKS;
        for (uint32_t i = 0; i < count; i++)
            memset(blocks[i] = cia_allocate(bytes), 0xff, bytes);
        for (int turn = 0; turn < 4; turn++) {
            for (uint32_t i = 0; i < count; i++) {
                if (random_below(&seed, 24) == 0)
                    live = random_below(&seed, 4) == 0;
                if (live == 0 && blocks[i] != NULL) {
                    cia_free(blocks[i]);
                    blocks[i] = NULL;
                }
            }
            if (random_below(&seed, 4) != 0)
                cia_trim();
            for (uint32_t i = 0; i < count; i++) {
                ck_assert_msg(blocks[i] == NULL || is_all(blocks[i], bytes, (char)0xff),
                              "round %d: a live block of %zu bytes", round, bytes);
                if (blocks[i] != NULL || random_below(&seed, 3) == 0)
                    continue;
                uint32_t pages, populated;

                blocks[i] = cia_allocate_zeroed(bytes);
                populated = populated_pages(blocks[i], bytes, &pages);
                ck_assert_msg(is_all(blocks[i], bytes, 0), "round %d: a new block of %zu bytes",
                              round, bytes);
                ck_assert(bytes > WHOLE_BYTES || populated == pages);
                memset(blocks[i], 0xff, bytes);
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            cia_free(blocks[i]);
            blocks[i] = NULL;
        }
    }
}
END_TEST

START_TEST(few_live_blocks_among_many_keep_few_pages_through_a_trim)
{
    static const struct {
        size_t bytes;
        uint32_t one_of;
    } shapes[] = {{60000, 8}, {4096, 32}, {500, 400}};
    size_t bytes = shapes[_i].bytes;
    uint32_t count = (uint32_t)((16 << 20) / bytes), resident = 0, kept = 0, pages;
    char **blocks = malloc(count * sizeof *blocks);

    one_cpu_and_small_pages();
    for (uint32_t i = 0; i < count; i++)
        memset(blocks[i] = cia_allocate(bytes), 1, bytes);
    for (uint32_t i = 0; i < count; i++) {
        if (i % shapes[_i].one_of != 0)
            cia_free(blocks[i]);
    }
    ck_assert(cia_trim());
    for (uint32_t i = 0; i < count; i++) {
        uint32_t populated = populated_pages(blocks[i], bytes, &pages);

        if (i % shapes[_i].one_of == 0)
            kept += pages;
        resident += populated;
    }
    /* Blocks beside a live one share its first page or its last, and are counted with that. */
    ck_assert_uint_le(resident, kept * (2 + PAGE_BYTES / bytes));
    for (uint32_t i = 0; i < count; i += shapes[_i].one_of)
        cia_free(blocks[i]);
    free(blocks);
}
END_TEST

/* All pages of the chunk that the block is in. */
static uint32_t populated_in_chunk(const void *block)
{
    uint32_t pages;
    const struct chunk *chunk = page_map_chunk(block);

    return populated_pages(chunk->base, (size_t)chunk->mapped_pages * PAGE_BYTES, &pages);
}

START_TEST(the_first_blocks_of_a_class_get_their_own_pages_and_no_more)
{
    size_t bytes = (size_t)1 << _i;
    uint32_t pages, populated;
    char *block;

    one_cpu_and_small_pages();
    block = cia_allocate(bytes);
    populated = populated_in_chunk(block);
    (void)populated_pages(block, cia_usable(block), &pages);
    ck_assert_uint_eq(populated, bytes <= WHOLE_BYTES || pages < 2 ? pages : 2);
}
END_TEST

/* What waits in the magazine and what lies behind it. */
START_TEST(a_growing_class_is_64_kib_ahead_at_most)
{
    static bool used[CHUNK_PAGES];
    size_t bytes = (size_t)1 << _i;
    uint32_t used_pages = 0, most = 0;

    one_cpu_and_small_pages();  /* before the first block: all are to come from one chunk */
    (void)cia_allocate(300000); /* too long for a small chunk, as a first one is */
    const char *first = cia_allocate(bytes), *block = first;
    for (int i = 0; ((uintptr_t)block ^ (uintptr_t)first) < CHUNK_BYTES; i++) {
        uintptr_t begin = (uintptr_t)block % CHUNK_BYTES;

        for (uintptr_t page = begin / PAGE_BYTES;
             page <= (begin + cia_usable(block) - 1) / PAGE_BYTES; page++) {
            used_pages += !used[page];
            used[page] = true;
        }
        if (i % 16 == 0 || bytes > 1024) {
            uint32_t populated = populated_in_chunk(first);

            if (populated > used_pages + most)
                most = populated - used_pages;
        }
        block = cia_allocate(bytes);
    }
    printf("blocks of %zu bytes: %u pages ahead at most\n", bytes, most);
    ck_assert_uint_ge(most, bytes < 1024 ? 2 : 0); /* there is a batch */
    ck_assert_uint_le(most, BATCH_BYTES / PAGE_BYTES + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia populate");
    TCase *tests = tcase_create("populate");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, blocks_that_were_never_used_have_their_pages);
    tcase_add_test(tests, aligned_blocks_have_their_pages);
    tcase_add_loop_test(tests, blocks_on_pages_used_before_have_their_pages_and_calloc_is_zero, 0,
                        4);
    tcase_add_loop_test(
        tests, a_trim_takes_pages_among_live_blocks_and_what_comes_there_next_is_zero, 0, 8);
    tcase_add_loop_test(tests, few_live_blocks_among_many_keep_few_pages_through_a_trim, 0, 3);
    tcase_add_loop_test(tests, the_first_blocks_of_a_class_get_their_own_pages_and_no_more, 6, 17);
    tcase_add_loop_test(tests, a_growing_class_is_64_kib_ahead_at_most, 6, 17);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
