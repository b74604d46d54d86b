/*
 * SPDX-License-Identifier: MIT
 *
 * What the malloc family is, for any allocator, once it has malloc, free, realloc, mallinfo2,
 * blocks of an alignment and what it says of itself: memalign, aligned_alloc, posix_memalign,
 * valloc, pvalloc, reallocarray, C23's free with sizes, mallinfo, malloc_info, malloc_stats,
 * mallopt, and glibc's internal names of these. An allocator's library compiles family.c itself.
 */
#ifndef MPLACE_MALLOC_FAMILY_H
#define MPLACE_MALLOC_FAMILY_H

#include "base/report.h"

#include <stddef.h>
#include <stdio.h>

/* Gives the names that follow to the program. */
#define EXPORT      __attribute__((visibility("default")))
#define ALIAS(name) __attribute__((visibility("default"), alias(name)))

/*
 * The library's: a block of at least `bytes` bytes at a multiple of the alignment, a power of two;
 * NULL: out of memory. The sum of the two is at most PTRDIFF_MAX.
 */
void *family_allocate_aligned(size_t alignment, size_t bytes) __attribute__((visibility("hidden")));

/* The library's: writes its XML. */
void family_write_info(FILE *stream) __attribute__((visibility("hidden")));

/* What glibc's malloc_stats ends with. */
struct family_sums {
    size_t system_bytes, used_bytes;
    size_t most_mappings, most_mapped_bytes; /* of blocks with one of their own, ever at once */
};

/* The library's: writes its own part of malloc_stats, and tells the sums. */
void family_report(struct report *report, struct family_sums *sums)
    __attribute__((visibility("hidden")));

/* C23, not yet in the headers of glibc 2.36. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);

#endif
