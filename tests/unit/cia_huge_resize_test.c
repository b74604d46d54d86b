/*
 * SPDX-License-Identifier: MIT
 *
 * Long blocks that are resized, and very many of them: how much address space, how many areas of
 * the kernel's and how many of its calls that takes, whatever the program does to parts of its
 * blocks.
 */
#include "base/random.h"
#include "base/system_call.h"
#include "cia_malloc/large/huge_cache.h"
#include "cia_malloc/large/huge_mapping.h"
#include "cia_malloc/pages/page_source.h"

#include "cia_fixture.h"
#include "run_suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20, KIB = 1 << 10 };

/* A sanitizer has areas and functions of its own, and does not follow mremap. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Areas of the process, without a call of the allocator. */
static size_t areas(void)
{
    static char text[64 * KIB];
    size_t lines = 0;
    ssize_t bytes;
    int file = open("/proc/self/maps", O_RDONLY);

    while ((bytes = read(file, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < bytes; i++)
            lines += text[i] == '\n';
    }
    close(file);
    return lines;
}

START_TEST(very_many_long_blocks_share_areas)
{
    enum { BLOCKS = 3000 };
    static char *blocks[BLOCKS];
    size_t before = areas();

    for (int i = 0; i < BLOCKS; i++) {
        ck_assert_ptr_nonnull(blocks[i] = cia_allocate(MIB));
        blocks[i][0] = 1;
    }
    ck_assert_uint_le(areas(), before + 50);
    for (int i = 0; i < BLOCKS; i++)
        cia_free(blocks[i]);
}
END_TEST

/* The kernel's calls that change mappings, counted: these are in place of the library's. */
static _Atomic uint32_t kernel_calls;

long page_source_mmap(void *hint, size_t bytes, int protection)
{
    kernel_calls++;
    return system_call_6(SYS_mmap, (long)hint, (long)bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
}

long page_source_munmap(void *address, size_t bytes)
{
    kernel_calls++;
    return system_call_6(SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

long page_source_mremap(void *address, size_t old_bytes, size_t new_bytes)
{
    kernel_calls++;
    return system_call_6(SYS_mremap, (long)address, (long)old_bytes, (long)new_bytes,
                         MREMAP_MAYMOVE, 0, 0);
}

static char *page_of(char *block, size_t offset)
{
    return block + (-(uintptr_t)block & (PAGE_BYTES - 1)) + offset;
}

START_TEST(blocks_that_the_kernel_has_as_several_areas_are_resized_in_bounded_address_space)
{
    enum { BLOCKS = 10, STEPS = 1000 };
    char *blocks[BLOCKS] = {NULL};
    uint64_t seed = 3;

    for (int step = 0; step < STEPS; step++) {
        uint32_t i = random_below(&seed, BLOCKS);
        size_t bytes = 2 * MIB + random_below(&seed, 8 * MIB);

        if (blocks[i] == NULL || step % 8 == 0) {
            cia_free(blocks[i]);
            blocks[i] = cia_allocate(bytes);
        } else {
            blocks[i] = cia_reallocate(blocks[i], bytes);
        }
        ck_assert_ptr_nonnull(blocks[i]);
        blocks[i][0] = blocks[i][bytes - 1] = 1;
        if (step % 3 == 0)
            (void)madvise(page_of(blocks[i], MIB), 100 * KIB, MADV_RANDOM);
        if (step % 5 == 0) /* another area, and closed again by whoever has it next */
            (void)madvise(page_of(blocks[i], 300 * KIB), 8 * KIB, MADV_SEQUENTIAL);
    }
    ck_assert_uint_le(page_source_mapped_bytes, 3 * huge_totals.bytes + 64 * MIB);
    ck_assert_uint_le(areas(), 1000);
}
END_TEST

START_TEST(a_block_that_the_kernel_cannot_grow_is_copied_seldom)
{
    enum { FIRST = 12 * MIB, STEPS = 200, KEPT = 30 };
    char *blocks[KEPT], *block;
    int copies = 0;

    for (int i = 0; i < KEPT; i++) {
        blocks[i] = cia_allocate(5 * MIB);
        (void)madvise(page_of(blocks[i], 0), MIB, MADV_RANDOM);
    }
    for (int i = 0; i < KEPT; i++)
        cia_free(blocks[i]);
    block = cia_allocate(FIRST);
    for (size_t i = 1; i <= STEPS; i++) {
        char *grown = cia_reallocate(block, FIRST + i * PAGE_BYTES);

        copies += grown != block;
        block = grown;
    }
    ck_assert_int_le(copies, 8);
    cia_free(block);
}
END_TEST

START_TEST(a_block_that_shrinks_and_grows_all_the_time_seldom_asks_the_kernel)
{
    enum { STEPS = 2000 };
    uint64_t seed = 4;
    char *block = cia_allocate(700 * KIB);
    uint32_t before = kernel_calls;

    for (int i = 0; i < STEPS; i++) {
        size_t bytes = 700 * KIB + random_below(&seed, 80 * KIB);

        ck_assert_ptr_nonnull(block = cia_reallocate(block, bytes));
        block[bytes - 1] = 1;
    }
    ck_assert_uint_le(kernel_calls - before, STEPS / 20);
    cia_free(block);
}
END_TEST

#endif

START_TEST(what_is_cut_off_blocks_that_grew_a_moment_ago_goes_back_if_it_is_long)
{
    enum { BLOCKS = 600, FIRST = 600 * KIB, LONG = 1500 * KIB, SHORT = 1100 * KIB };
    static char *blocks[BLOCKS];

    make_first_call();
    size_t mapped = page_source_mapped_bytes;
    for (int i = 0; i < BLOCKS; i++) {
        ck_assert_ptr_nonnull(blocks[i] = cia_allocate(FIRST));
        ck_assert_ptr_nonnull(blocks[i] = cia_reallocate(blocks[i], LONG));
        ck_assert_ptr_nonnull(blocks[i] = cia_reallocate(blocks[i], SHORT));
    }
    /* Up to 31 pages before each stay, and leaves of the page map. */
    ck_assert_uint_le(page_source_mapped_bytes - mapped, huge_totals.bytes + 85 * MIB);
    for (int i = 0; i < BLOCKS; i++)
        cia_free(blocks[i]);
}
END_TEST

START_TEST(arrays_that_grow_side_by_side_in_small_steps_move_seldom)
{
    enum { ARRAYS = 64, STEP = 4 * KIB, GREATEST = 512 * KIB, FROM = 64 * KIB };
    char *arrays[ARRAYS] = {NULL};
    uint32_t moves = 0;

    for (size_t bytes = STEP; bytes <= GREATEST; bytes += STEP) {
        for (int i = 0; i < ARRAYS; i++) {
            char *grown =
                arrays[i] == NULL ? cia_allocate(bytes) : cia_reallocate(arrays[i], bytes);

            ck_assert_ptr_nonnull(grown);
            moves += grown != arrays[i] && bytes > FROM;
            arrays[i] = grown;
            grown[bytes - 1] = 1;
        }
    }
    /* From 64 KiB on by a quarter each time: ten times. */
    ck_assert_uint_le(moves, ARRAYS * 12);
    for (int i = 0; i < ARRAYS; i++)
        cia_free(arrays[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia huge resize");
    TCase *tests = tcase_create("huge resize");

    tcase_set_timeout(tests, 60);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tests, very_many_long_blocks_share_areas);
    tcase_add_test(
        tests, blocks_that_the_kernel_has_as_several_areas_are_resized_in_bounded_address_space);
    tcase_add_test(tests, a_block_that_the_kernel_cannot_grow_is_copied_seldom);
    tcase_add_test(tests, a_block_that_shrinks_and_grows_all_the_time_seldom_asks_the_kernel);
#endif
    tcase_add_test(tests, what_is_cut_off_blocks_that_grew_a_moment_ago_goes_back_if_it_is_long);
    tcase_add_test(tests, arrays_that_grow_side_by_side_in_small_steps_move_seldom);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
