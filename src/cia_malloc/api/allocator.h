/*
 * SPDX-License-Identifier: MIT
 *
 * The allocator behind the malloc family: blocks by size, from whichever CPU's magazine or sub-heap
 * is ours now. errno is not set, but by cia_allocate, and no argument is checked but for lengths
 * above PTRDIFF_MAX, which are out of memory: interpose.c does the rest.
 */
#ifndef MPLACE_CIA_ALLOCATOR_H
#define MPLACE_CIA_ALLOCATOR_H

#include "cia_malloc/cpu_cache/magazine_sequences.h"
#include "cia_malloc/heap/block.h"
#include "cia_malloc/profile/profile.h"

/* As cia_allocate and cia_free, for what the fast paths leave. cia_allocate_by_mode: in any mode;
   up to MAGAZINE_LARGEST bytes are counted for the profile already. cia_allocate_slow: not
   hardened; whatever is to be counted is. */
void *cia_allocate_slow(size_t bytes);
void *cia_allocate_by_mode(size_t bytes);
void cia_free_slow(void *block);

/* An address in whose line a block begins, on a page of that info, which the loaded magazine
   refused. (In this order none of them has to be moved for the call.) */
void cia_free_refused(void *block, const struct page_info *info, ptrdiff_t area);

/*
 * At least bytes (0 is taken as 1), 16 B aligned, and 64 B where it is of an exclusive class. NULL,
 * errno ENOMEM, when out of memory: the one function here that sets errno, so that malloc has
 * nothing to look at afterwards.
 *
 * The fast path: where the class's magazine is by one load, its newest block. Some 35 instructions;
 * writes one line of this CPU and one of this thread. In profiled mode it is left at once, and
 * taken up again when the bytes are counted; in every other mode profile_count_down is true.
 */
static inline __attribute__((always_inline)) void *cia_allocate(size_t bytes)
{
    ptrdiff_t area = magazine_areas.take;

    if (__builtin_expect(bytes > MAGAZINE_LARGEST, 0))
        return cia_allocate_by_mode(bytes);
    if (__builtin_expect(!magazine_has_announced(area), 0)) {
        area = magazine_areas.all;
        if (profile_count_down(bytes))
            return cia_allocate_by_mode(bytes);
        if (!magazine_has_announced(area))
            return cia_allocate_slow(bytes);
    }
    uintptr_t block = magazine_pop(area, magazine_offset_of(bytes));

    if (__builtin_expect(block != 0, 1))
        return magazine_block(block);
    return cia_allocate_slow(bytes);
}

/* The same, reading as zero. */
void *cia_allocate_zeroed(size_t bytes);

/* The same as cia_allocate, aligned to a power of two. */
void *cia_allocate_aligned(size_t alignment, size_t bytes);

/*
 * block is NULL or came from here, or the process ends with one line that says what is wrong with
 * it.
 *
 * The fast path: two loads that depend on each other find what its page says of it; the magazine
 * takes it. Some 50 instructions; reads no line that another CPU's malloc or free writes, writes as
 * cia_allocate, and a place of the magazine.
 */
static inline __attribute__((always_inline)) void cia_free(void *block)
{
    ptrdiff_t area = magazine_areas.all;

    if (__builtin_expect(!magazine_has_announced(area), 0)) {
        cia_free_slow(block);
        return;
    }
    const struct page_info *info = page_map_find(block);
    if (__builtin_expect(info == NULL, 0) ||
        __builtin_expect(!page_info_starts_line(info, block), 0))
        cia_free_slow(block);
    else if (__builtin_expect(!magazine_push(area, info->magazine, info->start, block), 0))
        cia_free_refused(block, info, area);
}

/* Bytes from block on that are the caller's. */
size_t cia_usable(const void *block);

/*
 * What malloc of so many bytes gives now, at least: the length of its class, or above the classes
 * whole lines. 0: no block can be that long.
 */
size_t cia_usable_class(size_t bytes);

/* bytes: 1 to PTRDIFF_MAX. NULL, block untouched, when out of memory. */
void *cia_reallocate(void *block, size_t bytes);

/*
 * Gives all memory that is not in use back to the kernel: empties every magazine, releases runs,
 * purges pages. True if there was any. Waits a bounded time for those who hold a sub-heap.
 */
bool cia_trim(void);

#endif
