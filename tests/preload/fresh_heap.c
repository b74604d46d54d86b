/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for the tests of the benchmarks: counts what is asked of the allocator before
 * the first block of FRESH_HEAP_SIZE bytes, and says so on standard error at that block.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's own, which need no lookup: a lookup would allocate. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

static size_t watched_size;
static unsigned calls;
static bool told;

__attribute__((constructor)) static void read_size(void)
{
    const char *text = getenv("FRESH_HEAP_SIZE");

    watched_size = text != NULL ? (size_t)atoi(text) : 0;
}

void *malloc(size_t size)
{
    if (!told && watched_size != 0 && size == watched_size) {
        char text[64];
        int length = snprintf(text, sizeof text, "%u allocations before the first block\n", calls);

        told = true;
        if (write(STDERR_FILENO, text, (size_t)length) != length)
            abort();
    }
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    calls++;
    return __libc_realloc(block, size);
}
