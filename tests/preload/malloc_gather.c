/*
 * SPDX-License-Identifier: MIT
 *
 * At a limit of the address space what is free is gathered before a call fails; and what is cut off
 * a long block is free.
 */
#include "expect.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const size_t MIB = 1 << 20;

static void limit_to(size_t bytes_more)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    EXPECT(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    struct rlimit limit;
    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + bytes_more;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void unlimit(void)
{
    struct rlimit limit;

    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void come_and_go(size_t bytes, size_t size)
{
    size_t count = bytes / size;
    char **blocks = calloc(count, sizeof *blocks);

    EXPECT(blocks != NULL);
    for (size_t i = 0; i < count; i++) {
        EXPECT((blocks[i] = malloc(size)) != NULL);
        memset(blocks[i], 1, size);
    }
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
}

/* The block is longer than all that is mapped, and there is room for it once that has gone. */
static void a_block_longer_than_what_is_mapped_is_had_from_what_is_free(size_t size)
{
    limit_to(100 * MIB);
    come_and_go(60 * MIB, size);
    void *block = malloc(80 * MIB);
    EXPECT(block != NULL);
    free(block);
    unlimit();
}

/* There is no room for it and its copy. */
static void a_block_grows_into_what_is_free(size_t size)
{
    limit_to(200 * MIB);
    char *block = malloc(100 * MIB);
    EXPECT(block != NULL);
    block[99 * MIB] = 99;
    come_and_go(60 * MIB, size);
    char *grown = realloc(block, 170 * MIB);
    EXPECT(grown != NULL && grown[99 * MIB] == 99);
    free(grown);
    unlimit();
}

static void what_is_cut_off_a_long_block_does_not_stay_with_it(size_t from, size_t to)
{
    char *block = malloc(from);

    EXPECT(block != NULL);
    memset(block, 7, from);
    EXPECT((block = realloc(block, to)) != NULL);
    EXPECT(block[0] == 7 && block[to - 1] == 7);
    EXPECT(malloc_usable_size(block) <= to + to / 3 + 4096);
    free(block);
}

int main(void)
{
    what_is_cut_off_a_long_block_does_not_stay_with_it(1040000, 524288);
    what_is_cut_off_a_long_block_does_not_stay_with_it(500000, 260000);
    what_is_cut_off_a_long_block_does_not_stay_with_it(100000, 70000);
    if (getenv("CIA_HARDEN") != NULL)
        return 0; /* guard pages take addresses, and a block between them is copied */
    a_block_longer_than_what_is_mapped_is_had_from_what_is_free(1000);
    a_block_longer_than_what_is_mapped_is_had_from_what_is_free(200000);
    a_block_grows_into_what_is_free(1000);
    a_block_grows_into_what_is_free(60 * MIB);
    return 0;
}
