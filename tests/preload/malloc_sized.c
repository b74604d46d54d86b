/*
 * SPDX-License-Identifier: MIT
 *
 * C23's free_sized and free_aligned_sized free what the matching call allocated. glibc has them
 * since 2.43: without them there is nothing to test, unless the allocator is ours, which has to
 * have them.
 */
#include "expect.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

static void (*sized)(void *, size_t);
static void (*aligned_sized)(void *, size_t, size_t);

static void sized_frees_return_blocks_for_reuse(void)
{
    struct mallinfo2 before = mallinfo2();

    for (int round = 0; round < 200; round++)
        for (size_t size = 0; size < 300000; size = size * 2 + 33) {
            char *block = round % 2 ? malloc(size) : calloc(1, size);
            EXPECT(block != NULL);
            fill_pattern(block, 0, size, size);
            sized(block, size);
            for (size_t alignment = 8; alignment <= 1 << 16; alignment *= 16) {
                block = aligned_alloc(alignment, size);
                EXPECT(block != NULL && is_aligned(block, alignment));
                fill_pattern(block, 0, size, size);
                aligned_sized(block, alignment, size);
            }
        }
    sized(NULL, 0);
    aligned_sized(NULL, 64, 0);
    struct mallinfo2 after = mallinfo2();
    /* Over 500 MB were allocated and freed. */
    EXPECT(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + (1 << 20));
}

int main(void)
{
    *(void **)&sized = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    if (dlsym(RTLD_DEFAULT, "mplace_malloc_name") != NULL)
        EXPECT(sized != NULL && aligned_sized != NULL);
    if (sized == NULL || aligned_sized == NULL) {
        printf("skipped: this C library has no free_sized\n");
        return EXIT_SKIPPED;
    }
    sized_frees_return_blocks_for_reuse();
    return 0;
}
