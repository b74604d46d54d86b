/*
 * SPDX-License-Identifier: MIT
 *
 * The allocator behind this library: libc's, or that of the next library in the preload order.
 */
#ifndef RAND_MALLOC_NEXT_ALLOCATOR_H
#define RAND_MALLOC_NEXT_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * All of one shared object: that which defines malloc. A function that it does not define is NULL
 * here, though another object behind it may have one: a block of jemalloc's must not meet glibc's
 * free.
 */
struct next_allocator {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    size_t (*malloc_usable_size)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    const char *object; /* its path, as the dynamic linker keeps it */
};

/*
 * Fills *next and returns true; returns false to a call that the look-up itself made (the dynamic
 * linker allocates), which bootstrap_allocate then serves. errno is preserved. Two threads may do
 * it at once: they write the same values.
 */
bool next_allocator_find(struct next_allocator *next);

#endif
