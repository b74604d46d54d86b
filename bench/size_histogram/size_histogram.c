/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library that counts what sizes a program asks malloc, calloc and realloc for, and
 * prints them at exit: one "lines requests bytes" row for each block length in 64-byte lines, to
 * the file that SIZE_HISTOGRAM names (%p is not replaced: the last process wins) or to standard
 * error. waste.awk next to it turns the rows into the waste of a table of size classes. It is a
 * measuring tool: not thread-exact, not installed.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 1031, LINE_BYTES = 64 };

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t bytes);

static atomic_ulong requests[LINES + 1], bytes_asked[LINES + 1];

static void count(size_t bytes)
{
    size_t lines = bytes == 0 ? 1 : (bytes + LINE_BYTES - 1) / LINE_BYTES;

    if (lines <= LINES) {
        atomic_fetch_add_explicit(&requests[lines], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes_asked[lines], bytes, memory_order_relaxed);
    }
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    count(bytes);
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t number, size_t size)
{
    count(number * size);
    return __libc_calloc(number, size);
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t bytes)
{
    count(bytes);
    return __libc_realloc(block, bytes);
}

__attribute__((destructor)) static void print_rows(void)
{
    const char *name = getenv("SIZE_HISTOGRAM");
    FILE *file = name != NULL ? fopen(name, "w") : stderr;

    for (size_t lines = 1; file != NULL && lines <= LINES; lines++) {
        unsigned long n = atomic_load(&requests[lines]);

        if (n != 0)
            fprintf(file, "%zu %lu %lu\n", lines, n, atomic_load(&bytes_asked[lines]));
    }
    if (file != NULL && file != stderr)
        fclose(file);
}
