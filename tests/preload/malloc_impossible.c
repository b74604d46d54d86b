/*
 * SPDX-License-Identifier: MIT
 *
 * Requests that cannot be met: NULL, the right errno, and nothing changed.
 */
#include "expect.h"

#include "mplace.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

/* Volatile: the compiler warns of impossible sizes that it can see. */
static volatile const size_t impossible[] = {
    (size_t)PTRDIFF_MAX + 1, SIZE_MAX,        SIZE_MAX - 1,    SIZE_MAX - 15,   SIZE_MAX - 63,
    SIZE_MAX - 4095,         SIZE_MAX - 4096, SIZE_MAX - 8192, SIZE_MAX / 2 + 2};
enum { COUNT = sizeof impossible / sizeof impossible[0] };

static void requests_beyond_the_address_space_are_enomem_at_every_entry(void)
{
    for (int i = 0; i < COUNT; i++) {
        size_t size = impossible[i];
        EXPECT_ENOMEM(malloc(size));
        EXPECT_ENOMEM(calloc(1, size));
        EXPECT_ENOMEM(calloc(size, 1));
        EXPECT_ENOMEM(realloc(NULL, size));
        EXPECT_ENOMEM(reallocarray(NULL, 1, size));
        EXPECT_ENOMEM(valloc(size));
        EXPECT_ENOMEM(pvalloc(size));
        for (size_t alignment = 16; alignment <= 1 << 21; alignment *= 2) {
            EXPECT_ENOMEM(memalign(alignment, size));
            EXPECT_ENOMEM(aligned_alloc(alignment, size));
        }
    }
}

/* 128 TiB is all there is for user space on x86-64: the kernel refuses, not the arithmetic. */
static void requests_that_the_kernel_refuses_are_enomem_too(void)
{
    volatile size_t size = (size_t)1 << 47;

    EXPECT_ENOMEM(malloc(size));
    EXPECT_ENOMEM(calloc(1, size));
    EXPECT_ENOMEM(realloc(NULL, size));
    EXPECT_ENOMEM(memalign(4096, size));
    EXPECT_ENOMEM(aligned_alloc(64, size));
    EXPECT_ENOMEM(reallocarray(NULL, 1 << 7, (size_t)1 << 40));
    EXPECT_ENOMEM(calloc(1 << 7, (size_t)1 << 40));
    EXPECT_ENOMEM(valloc(size));
    EXPECT_ENOMEM(pvalloc(size));

    void *const unset = (void *)0x5a5a;
    void *block = unset;
    errno = 0;
    EXPECT(posix_memalign(&block, 4096, size) == ENOMEM && errno == ENOMEM && block == unset);
}

static void products_that_overflow_are_enomem_and_not_small_blocks(void)
{
    static volatile const size_t factors[][2] = {
        {SIZE_MAX, 2},      {2, SIZE_MAX},
        {SIZE_MAX, 16},     {(size_t)1 << 32, (size_t)1 << 32},
        {SIZE_MAX / 2, 3},  {((size_t)1 << 32) + 1, ((size_t)1 << 32) - 1},
        {SIZE_MAX / 16, 17}};

    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        EXPECT_ENOMEM(calloc(factors[i][0], factors[i][1]));
        EXPECT_ENOMEM(reallocarray(NULL, factors[i][0], factors[i][1]));

        char *block = malloc(100);
        fill_pattern(block, 0, 100, i);
        EXPECT_ENOMEM(reallocarray(block, factors[i][0], factors[i][1]));
        EXPECT(holds_pattern(block, 0, 100, i));
        free(block);
    }
}

static void a_realloc_that_fails_leaves_the_block_as_it_was(void)
{
    static const size_t sizes[] = {1, 40, 1000, 5000, 70000, 300000, 3 << 20};
    volatile size_t kernel_refuses = (size_t)1 << 47;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        char *block = malloc(sizes[s]);
        EXPECT(block != NULL);
        fill_pattern(block, 0, sizes[s], s);
        for (int i = 0; i < COUNT; i++) {
            EXPECT_ENOMEM(realloc(block, impossible[i]));
            EXPECT_ENOMEM(reallocarray(block, 1, impossible[i]));
        }
        EXPECT_ENOMEM(realloc(block, kernel_refuses));
        EXPECT_ENOMEM(reallocarray(block, 1 << 7, kernel_refuses >> 7));
        EXPECT(malloc_usable_size(block) >= sizes[s]);
        EXPECT(holds_pattern(block, 0, sizes[s], s));
        free(block);
    }
}

/* POSIX says nothing of errno here; glibc sets it where memory is short, and programs look. */
static void posix_memalign_returns_its_error_and_does_not_touch_the_pointer(void)
{
    static const size_t bad_alignments[] = {0, 1, 2, 3, 4, 7, 12, 24, 48, 4095, 4097};
    void *const unset = (void *)0x5a5a;
    void *block = unset;

    for (size_t i = 0; i < sizeof bad_alignments / sizeof bad_alignments[0]; i++) {
        errno = 12345;
        EXPECT(posix_memalign(&block, bad_alignments[i], 64) == EINVAL);
        EXPECT(errno == 12345 && block == unset);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t alignment = 8; alignment <= 1 << 21; alignment *= 2) {
            errno = 12345;
            EXPECT(posix_memalign(&block, alignment, impossible[i]) == ENOMEM);
            EXPECT(errno == ENOMEM && block == unset);
        }
}

#pragma weak mplace_malloc_name

/* glibc 2.39's own posix_memalign crashes at 2^63. */
static bool crashes_in_libc(size_t alignment)
{
    return mplace_malloc_name == NULL && alignment == (size_t)1 << 63 &&
           strcmp(gnu_get_libc_version(), "2.39") == 0;
}

static void an_alignment_that_no_address_can_have_is_an_error(void)
{
    static volatile const size_t alignments[] = {
        (size_t)1 << 47,       (size_t)1 << 48, (size_t)1 << 61, (size_t)1 << 62, (size_t)1 << 63,
        ((size_t)1 << 63) + 1, SIZE_MAX / 2,    SIZE_MAX - 1,    SIZE_MAX};
    static volatile const size_t sizes[] = {0, 1, 64, 5000, 1 << 20, (size_t)1 << 46, PTRDIFF_MAX};
    void *const unset = (void *)0x5a5a;
    void *block = unset;

    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            size_t alignment = alignments[i], size = sizes[s];
            bool power = (alignment & (alignment - 1)) == 0;

            errno = 0;
            EXPECT(memalign(alignment, size) == NULL);
            EXPECT(errno == EINVAL || errno == ENOMEM);
            errno = 0;
            EXPECT(aligned_alloc(alignment, size) == NULL);
            EXPECT(errno == EINVAL || errno == ENOMEM);
            if (crashes_in_libc(alignment))
                continue;
            EXPECT(posix_memalign(&block, alignment, size) == (power ? ENOMEM : EINVAL));
            EXPECT(block == unset);
        }
}

static void what_was_refused_does_not_spoil_what_follows(void)
{
    for (size_t size = 1; size < 1 << 20; size = size * 3 + 1) {
        char *block = malloc(size);
        EXPECT(block != NULL);
        fill_pattern(block, 0, size, size);
        EXPECT(holds_pattern(block, 0, size, size));
        free(block);
    }
}

int main(void)
{
    requests_beyond_the_address_space_are_enomem_at_every_entry();
    requests_that_the_kernel_refuses_are_enomem_too();
    products_that_overflow_are_enomem_and_not_small_blocks();
    a_realloc_that_fails_leaves_the_block_as_it_was();
    posix_memalign_returns_its_error_and_does_not_touch_the_pointer();
    an_alignment_that_no_address_can_have_is_an_error();
    what_was_refused_does_not_spoil_what_follows();
    return 0;
}
