/*
 * SPDX-License-Identifier: MIT
 *
 * At a limit of the address space what is free is gathered before a call fails; and what is cut off
 * a long block is free.
 */
#include "expect.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
    EXPECT(malloc_usable_size(block) <= to + to / 8 * 5 + 4096);
    free(block);
}

/* It is not copied each time. */
static void a_long_block_that_shrinks_and_grows_by_turns_stays_where_it_is(size_t less, size_t more)
{
    char *block = malloc(less);
    int moves = 0;

    for (int i = 0; i < 1000; i++) {
        uintptr_t before = (uintptr_t)block;

        EXPECT((block = realloc(block, i % 2 == 0 ? more : less)) != NULL);
        block[less - 1] = 1;
        moves += (uintptr_t)block != before;
    }
    EXPECT(moves <= 10);
    free(block);
}

/* Nor is memory taken to see that there is none. */
static void a_block_that_is_refused_takes_no_memory_where_all_is_locked(void)
{
    struct rusage usage;

    if (mlockall(MCL_FUTURE) != 0)
        return;
    char *block = malloc(40 * MIB);
    if (block == NULL) { /* a limit of locked memory */
        EXPECT(munlockall() == 0);
        return;
    }
    EXPECT(getrusage(RUSAGE_SELF, &usage) == 0);
    long before = usage.ru_maxrss;
    limit_to(80 * MIB);
    EXPECT(malloc(110 * MIB) == NULL);
    EXPECT(getrusage(RUSAGE_SELF, &usage) == 0);
    EXPECT(usage.ru_maxrss - before < 20 << 10);
    unlimit();
    free(block);
    EXPECT(munlockall() == 0);
}

int main(void)
{
    what_is_cut_off_a_long_block_does_not_stay_with_it(1040000, 524288);
    what_is_cut_off_a_long_block_does_not_stay_with_it(500000, 260000);
    what_is_cut_off_a_long_block_does_not_stay_with_it(100000, 60000);
    if (getenv("CIA_HARDEN") != NULL)
        return 0; /* guard pages take addresses, and a block between them is copied */
    a_long_block_that_shrinks_and_grows_by_turns_stays_where_it_is(100000, 107000);
    a_long_block_that_shrinks_and_grows_by_turns_stays_where_it_is(200000, 220000);
    a_long_block_that_shrinks_and_grows_by_turns_stays_where_it_is(490000, 550000);
    a_block_that_is_refused_takes_no_memory_where_all_is_locked();
    a_block_longer_than_what_is_mapped_is_had_from_what_is_free(1000);
    a_block_longer_than_what_is_mapped_is_had_from_what_is_free(200000);
    (void)malloc_trim(0);
    a_block_grows_into_what_is_free(1000);
    (void)malloc_trim(0);
    a_block_grows_into_what_is_free(60 * MIB);
    return 0;
}
