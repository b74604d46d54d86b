/*
 * SPDX-License-Identifier: MIT
 *
 * A table of which little is used: calloc of a very long block takes memory where it is touched,
 * whatever was freed before it, and reads as zero.
 */
#include "expect.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Few: two huge pages, where the kernel gives them unasked. */
enum { MIB = 1 << 20, PAGE = 4096, FEW_PAGES = 1024 };

/* Pages of the block that have memory. */
static size_t resident_pages(const char *block, size_t bytes)
{
    static unsigned char resident[(256 * MIB) / PAGE];
    const char *first = block - (uintptr_t)block % PAGE;
    size_t pages = (size_t)(block + bytes - first + PAGE - 1) / PAGE, count = 0;

    EXPECT(pages <= sizeof resident);
    EXPECT(mincore((void *)first, pages * PAGE, resident) == 0);
    for (size_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    return count;
}

static void a_long_zeroed_block_takes_memory_where_it_is_touched(size_t freed, size_t bytes)
{
    enum { TOUCHED = 16 };
    char *before = malloc(freed);

    EXPECT(before != NULL);
    memset(before, 0xff, freed);
    free(before);
    for (int round = 0; round < 4; round++) {
        char *block = calloc(1, bytes);

        EXPECT(block != NULL);
        EXPECT(resident_pages(block, bytes) <= FEW_PAGES);
        for (size_t i = 0; i < TOUCHED; i++) {
            char *part = block + i * (bytes / TOUCHED);
            size_t length = i + 1 < TOUCHED ? PAGE : (size_t)(block + bytes - part);

            EXPECT(is_zero(part, length));
            memset(i + 1 < TOUCHED ? part : block + bytes - PAGE, 0xff, PAGE);
        }
        free(block);
    }
}

int main(void)
{
    a_long_zeroed_block_takes_memory_where_it_is_touched(60 * MIB, 200 * MIB);
    a_long_zeroed_block_takes_memory_where_it_is_touched(200 * MIB, 40 * MIB + 12345);
    return 0;
}
