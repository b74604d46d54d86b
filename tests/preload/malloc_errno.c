/*
 * SPDX-License-Identifier: MIT
 *
 * A call that succeeds leaves errno alone, whatever system calls it needed: programs look at errno
 * after a library call that allocated on its way. free does since glibc 2.33.
 */
#include "expect.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static const int before = 4711; /* no error has this number */

#define EXPECT_UNTOUCHED(statement)                                                                \
    do {                                                                                           \
        errno = before;                                                                            \
        statement;                                                                                 \
        EXPECT(errno == before);                                                                   \
    } while (0)

static void success_leaves_errno_alone(size_t size)
{
    void *block;

    EXPECT_UNTOUCHED(block = malloc(size));
    EXPECT(block != NULL);
    EXPECT_UNTOUCHED(malloc_usable_size(block));
    EXPECT_UNTOUCHED(block = realloc(block, size * 2 + 1));
    EXPECT_UNTOUCHED(block = realloc(block, size / 2 + 1));
    EXPECT_UNTOUCHED(free(block));
    EXPECT_UNTOUCHED(block = calloc(size + 1, 1));
    EXPECT_UNTOUCHED(block = reallocarray(block, size + 1, 3));
    EXPECT(block != NULL);
    EXPECT_UNTOUCHED(free(block));
    EXPECT_UNTOUCHED(block = memalign(4096, size));
    EXPECT_UNTOUCHED(free(block));
    EXPECT_UNTOUCHED(block = aligned_alloc(64, size));
    EXPECT_UNTOUCHED(free(block));
    EXPECT_UNTOUCHED(EXPECT(posix_memalign(&block, 256, size) == 0));
    EXPECT_UNTOUCHED(free(block));
    EXPECT_UNTOUCHED(block = valloc(size));
    EXPECT_UNTOUCHED(free(block));
    EXPECT_UNTOUCHED(block = pvalloc(size));
    EXPECT_UNTOUCHED(free(block));
}

static void giving_memory_back_leaves_errno_alone(void)
{
    enum { BLOCKS = 500 };
    void *blocks[BLOCKS];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++)
            EXPECT_UNTOUCHED(blocks[i] = malloc((size_t)1000 << i % 9));
        for (int i = 0; i < BLOCKS; i++)
            EXPECT_UNTOUCHED(free(blocks[i]));
    }
    EXPECT_UNTOUCHED(free(NULL));
    EXPECT_UNTOUCHED(malloc_trim(0));
    EXPECT_UNTOUCHED((void)mallinfo2());
}

int main(void)
{
    for (size_t size = 0; size < 3000; size += 7)
        success_leaves_errno_alone(size);
    for (size_t size = 3000; size < 40 << 20; size += size / 3)
        success_leaves_errno_alone(size);
    giving_memory_back_leaves_errno_alone();
    return 0;
}
