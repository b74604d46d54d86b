/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for one test: counts the mallocs and says so on standard error at exit.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);

static atomic_ulong mallocs;

void *malloc(size_t size)
{
    atomic_fetch_add_explicit(&mallocs, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

__attribute__((destructor)) static void print_count(void)
{
    fprintf(stderr, "mallocs %lu\n", atomic_load(&mallocs));
}
