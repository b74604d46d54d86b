/*
 * SPDX-License-Identifier: MIT
 *
 * A process that frees every second of very many long blocks can allocate as before. Each hole in
 * its mappings is one mapping more to the kernel, which has 65,530 for a process.
 *
 *   malloc_holes [closed|shrunk|aligned]
 *      closed: some have pages that the program protected (glibc crashes)
 *      shrunk, aligned: the holes are beside blocks that got shorter, or are aligned
 */
#include "expect.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    BLOCKS = 140000,
    LENGTH = 530000, /* longer than any that lies in a chunk */
    OTHERS = 5000,
    CLOSED = 64 << 10,
};

static char **blocks; /* in a mapping: a table of that length is no block of the allocator's */

static char *middle_of(char *block)
{
    return (char *)((uintptr_t)(block + LENGTH / 2) & ~(uintptr_t)(CLOSED - 1));
}

/* A process may not have so many addresses, or the kernel commits nothing beyond its memory. */
static void have_very_many(bool closed)
{
    blocks = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(blocks != MAP_FAILED);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(LENGTH);
        if (blocks[i] == NULL)
            _exit(EXIT_SKIPPED);
    }
    for (size_t i = 0; i < BLOCKS; i += 2) {
        /* What the program did to its pages is no business of the next block. */
        if (closed && i % 20 == 0)
            EXPECT(mprotect(middle_of(blocks[i]), CLOSED, PROT_NONE) == 0);
        free(blocks[i]);
    }
}

static void blocks_of_any_length_can_be_had(void)
{
    static const size_t lengths[] = {40, 1000, 20000, 100000};

    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        static char *others[OTHERS];

        for (size_t i = 0; i < OTHERS; i++) {
            others[i] = malloc(lengths[l]);
            EXPECT(others[i] != NULL);
        }
        for (size_t i = 0; i < OTHERS; i++)
            free(others[i]);
    }
}

static void and_long_ones_that_read_as_zero(void)
{
    for (size_t i = 0; i < BLOCKS; i += 2) {
        size_t length = LENGTH - 3000 + i % 6000;

        blocks[i] = i % 100 == 0 ? calloc(1, length) : malloc(length);
        EXPECT(blocks[i] != NULL);
        if (i % 100 == 0)
            EXPECT(blocks[i][0] == 0 && blocks[i][length / 2] == 0 && blocks[i][length - 1] == 0);
        blocks[i][length / 2] = 1;
    }
}

/* Half as many: the kernel has no room for more, if each has a hole beside it. */
static void have_many_with_room_beside(bool aligned)
{
    for (size_t i = 0; i < BLOCKS / 2; i++) {
        void *block = aligned ? aligned_alloc(1 << 20, LENGTH) : malloc(2 * LENGTH);

        if (block == NULL)
            _exit(EXIT_SKIPPED);
        if (!aligned)
            EXPECT((block = realloc(block, LENGTH)) != NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "closed") != 0) {
        have_many_with_room_beside(strcmp(argv[1], "aligned") == 0);
        blocks_of_any_length_can_be_had();
        return 0;
    }
    have_very_many(argc > 1 && strcmp(argv[1], "closed") == 0);
    blocks_of_any_length_can_be_had();
    and_long_ones_that_read_as_zero();
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    blocks_of_any_length_can_be_had();
    return 0;
}
