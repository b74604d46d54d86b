/*
 * SPDX-License-Identifier: MIT
 *
 * What the malloc family is, for any allocator, once it has malloc, free, realloc, mallinfo2 and
 * blocks of an alignment: memalign, aligned_alloc, posix_memalign, valloc, pvalloc, reallocarray,
 * C23's free with sizes, mallinfo, mallopt, and glibc's internal names of these. An allocator's
 * library compiles family.c itself.
 */
#ifndef MPLACE_MALLOC_FAMILY_H
#define MPLACE_MALLOC_FAMILY_H

#include <stddef.h>

/* Gives the names that follow to the program. */
#define EXPORT      __attribute__((visibility("default")))
#define ALIAS(name) __attribute__((visibility("default"), alias(name)))

/*
 * The library's: a block of at least `bytes` bytes at a multiple of the alignment, a power of two;
 * NULL: out of memory. The sum of the two is at most PTRDIFF_MAX.
 */
void *family_allocate_aligned(size_t alignment, size_t bytes) __attribute__((visibility("hidden")));

/* C23, not yet in the headers of glibc 2.36. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);

#endif
