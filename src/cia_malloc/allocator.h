/*
 * SPDX-License-Identifier: MIT
 *
 * The allocator behind the malloc family: blocks by size, from whichever sub-heap is ours now. No
 * argument of the C interface is checked here and errno is not set: interpose.c does both.
 */
#ifndef MPLACE_CIA_ALLOCATOR_H
#define MPLACE_CIA_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* At least bytes (0 is taken as 1), 64 B aligned. NULL when out of memory. */
void *cia_allocate(size_t bytes);

/* The same, reading as zero. */
void *cia_allocate_zeroed(size_t bytes);

/* The same as cia_allocate, aligned to a power of two. */
void *cia_allocate_aligned(size_t alignment, size_t bytes);

/* block came from here, or the process ends with one line that says what is wrong with it. */
void cia_free(void *block);

/* Bytes from block on that are the caller's. */
size_t cia_usable(const void *block);

/* NULL, block untouched, when out of memory. */
void *cia_reallocate(void *block, size_t bytes);

#endif
