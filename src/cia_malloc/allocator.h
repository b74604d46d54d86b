/*
 * SPDX-License-Identifier: MIT
 *
 * The allocator behind the malloc family: blocks by size, from whichever CPU's magazine or sub-heap
 * is ours now. No argument of the C interface is checked here and errno is not set: interpose.c
 * does both.
 */
#ifndef MPLACE_CIA_ALLOCATOR_H
#define MPLACE_CIA_ALLOCATOR_H

#include "cia_malloc/magazine.h"
#include "cia_malloc/supply.h"

/* As cia_allocate and cia_free, for what the fast paths leave. */
void *cia_allocate_slow(size_t bytes);
void cia_free_slow(void *block);

/*
 * At least bytes (0 is taken as 1), 64 B aligned. NULL when out of memory.
 *
 * The fast path: the class by one load, a block from the magazine. Some 25 instructions; writes one
 * line of this CPU and one of this thread.
 */
static inline void *cia_allocate(size_t bytes)
{
    ptrdiff_t area = magazine_area;

    if (__builtin_expect(bytes <= MAGAZINE_LARGEST && magazine_area_is_usable(area), 1)) {
        uintptr_t block = magazine_pop(area, size_class_of(bytes), 0, MAGAZINE_SERVE);

        if (__builtin_expect(block != 0, 1))
            return magazine_block(block);
    }
    return cia_allocate_slow(bytes);
}

/* The same, reading as zero. */
void *cia_allocate_zeroed(size_t bytes);

/* The same as cia_allocate, aligned to a power of two. */
void *cia_allocate_aligned(size_t alignment, size_t bytes);

/*
 * block came from here, or the process ends with one line that says what is wrong with it.
 *
 * The fast path: three loads that depend on each other find the class and whether a block begins
 * there, the magazine takes it. Some 45 instructions; reads no line that another CPU's malloc or
 * free writes, writes as cia_allocate.
 */
static inline void cia_free(void *block)
{
    ptrdiff_t area = magazine_area;
    void *owner = page_source_owner(block);

    if (__builtin_expect(owner != NULL && owner_kind_of(owner) == OWNER_CHUNK, 1)) {
        struct chunk *chunk = owner;
        unsigned size_class = block_class_at(chunk, block);

        if (__builtin_expect(size_class < MAGAZINE_CLASSES, 1)) {
            if (__builtin_expect(magazine_area_is_usable(area), 1) &&
                __builtin_expect(magazine_push(area, size_class, 0,
                                               magazine_place(size_class, block),
                                               block) == MAGAZINE_TAKEN,
                                 1))
                return;
            supply_take_back(chunk, size_class, block);
            return;
        }
    }
    cia_free_slow(block);
}

/* Bytes from block on that are the caller's. */
size_t cia_usable(const void *block);

/* NULL, block untouched, when out of memory. */
void *cia_reallocate(void *block, size_t bytes);

/*
 * Gives all memory that is not in use back to the kernel: empties every magazine, releases runs,
 * purges pages. True if there was any. Waits a bounded time for those who hold a sub-heap.
 */
bool cia_trim(void);

#endif
