/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library that counts what sizes a program asks malloc, calloc and realloc for, and
 * prints them at exit: one "lines requests bytes" row for each block length in 64-byte lines, to
 * the file that SIZE_HISTOGRAM names (%p is not replaced: the last process wins) or to standard
 * error. With SIZE_HISTOGRAM_UNIT=16 the rows are in units of 16 bytes instead. waste.awk next to
 * it turns the rows into the waste of a table of size classes. It is a measuring tool: not
 * thread-exact, not installed.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT_BYTES = 16, UNITS_OF_LINE = 4, UNITS = 1031 * UNITS_OF_LINE };

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t bytes);

static atomic_ulong requests[UNITS + 1], bytes_asked[UNITS + 1];

static void count(size_t bytes)
{
    size_t units = bytes == 0 ? 1 : bytes / UNIT_BYTES + (bytes % UNIT_BYTES != 0);

    if (units <= UNITS) {
        atomic_fetch_add_explicit(&requests[units], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes_asked[units], bytes, memory_order_relaxed);
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
    const char *name = secure_getenv("SIZE_HISTOGRAM"),
               *unit = secure_getenv("SIZE_HISTOGRAM_UNIT");
    FILE *file = name != NULL ? fopen(name, "w") : stderr;
    size_t step = unit != NULL && strcmp(unit, "16") == 0 ? 1 : UNITS_OF_LINE;

    for (size_t last = step; file != NULL && last <= UNITS; last += step) {
        unsigned long n = 0, bytes = 0;

        for (size_t i = last - step + 1; i <= last; i++) {
            n += atomic_load(&requests[i]);
            bytes += atomic_load(&bytes_asked[i]);
        }
        if (n != 0)
            fprintf(file, "%zu %lu %lu\n", last / step, n, bytes);
    }
    if (file != NULL && file != stderr)
        fclose(file);
}
