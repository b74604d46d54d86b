/*
 * SPDX-License-Identifier: MIT
 *
 * The few blocks that the dynamic linker asks for while we ask it for the next allocator. They come
 * from a fixed arena and are never reused: freeing one does nothing.
 */
#ifndef RAND_MALLOC_BOOTSTRAP_H
#define RAND_MALLOC_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOOTSTRAP_BYTES = 8192 };

extern char bootstrap_arena[BOOTSTRAP_BYTES];

/* Whether a block is one of ours: a subtraction and a comparison, on every free. */
static inline bool bootstrap_owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)bootstrap_arena < BOOTSTRAP_BYTES;
}

/* A zeroed block, or NULL and ENOMEM when the arena is used up. alignment: a power of two. */
void *bootstrap_allocate(size_t size, size_t alignment);

/* The size that the block was asked for with. */
size_t bootstrap_size(const void *block);

#endif
