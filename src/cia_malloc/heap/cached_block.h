/*
 * SPDX-License-Identifier: MIT
 *
 * What the class heaps know of magazines (cpu_cache/magazine.h): which blocks may be cached in one,
 * what is said in the address of a cached block, and where free and malloc find the magazine. For
 * malloc that says which class it takes, an exclusive or a packed one: CIA_LINES.
 */
#ifndef MPLACE_CIA_CACHED_BLOCK_H
#define MPLACE_CIA_CACHED_BLOCK_H

#include "cia_malloc/heap/size_class.h"

#include <assert.h>

enum {
    CPU_HEAPS = 1024, /* CPU numbers beyond it share: right, only slower */

    /* Longer blocks are not cached. */
    MAGAZINE_LARGEST_LINES = 257,
    MAGAZINE_LARGEST = MAGAZINE_LARGEST_LINES * LINE_BYTES,
    CACHED_EXCLUSIVE_CLASSES = 35,

    MAGAZINE_COLOURS = 64, /* those of most machines; others modulo this */

    MAGAZINE_UNTOUCHED = 1, /* in the address of a cached block: it reads as zero */

    /* The layout of magazines, by region; a region for each node. */
    MAGAZINE_BYTES = LINE_BYTES,
    MAGAZINES_AT = LINE_BYTES,
    MAGAZINE_REGION_BYTES = MAGAZINES_AT + SIZE_CLASS_COUNT * MAGAZINE_BYTES,
    MAGAZINE_NODES = 32, /* more share regions: right, but their blocks get mixed */
};

static_assert(MAGAZINE_NODES * MAGAZINE_REGION_BYTES / 8 <= UINT16_MAX,
              "an offset is 16 bits of a page's info");

/* Whether blocks of the class wait in magazines: those of up to MAGAZINE_LARGEST bytes. */
static inline bool class_is_cached(unsigned size_class)
{
    return size_class < CACHED_EXCLUSIVE_CLASSES || size_class_is_compact(size_class);
}

/*
 * Where the magazine for blocks of a class and node is among the regions, in units of 8 bytes:
 * never 0. A page says it of its blocks, so that free() need not know the class. For malloc, with
 * the own region for a base, it is the same with node 0.
 */
static inline uint32_t magazine_offset(unsigned size_class, unsigned node)
{
    return (node % MAGAZINE_NODES * MAGAZINE_REGION_BYTES + MAGAZINES_AT +
            size_class * MAGAZINE_BYTES) /
           8;
}

/*
 * Where malloc finds the magazine of the class that it takes, by number of granules of the request:
 * one load. 0 before the first block, as if malloc took the exclusive class. Relaxed: what a packed
 * class stands for may be served by the exclusive one at any time.
 */
enum { MAGAZINE_LARGEST_GRANULES = MAGAZINE_LARGEST / GRANULE_BYTES };
extern _Atomic uint16_t magazine_offset_by_granules[MAGAZINE_LARGEST_GRANULES + 1];

/* The same by length of the request, 0 to MAGAZINE_LARGEST bytes. */
static inline uint32_t magazine_offset_of(size_t bytes)
{
    return atomic_load_explicit(
        &magazine_offset_by_granules[(bytes + GRANULE_BYTES - 1) >> GRANULE_SHIFT],
        memory_order_relaxed);
}

/* The class that malloc takes for a request of 0 to SIZE_CLASS_LARGEST bytes. */
static inline unsigned size_class_for(size_t bytes)
{
    uint32_t offset = bytes <= MAGAZINE_LARGEST ? magazine_offset_of(bytes) : 0;

    return offset != 0 ? (offset * 8 - MAGAZINES_AT) / MAGAZINE_BYTES : size_class_of(bytes);
}

/* Fills that table as CIA_LINES and CIA_HARDEN say. Before the first block, after
   size_class_initialise, and idempotent. */
void size_class_read_setting(void);

/* With CIA_LINES=auto, whether so many bytes of live blocks of a class in one sub-heap are more
   than can be hot at once. Relaxed: written before the first block. */
extern _Atomic uint64_t size_class_exclusive_most;

static inline bool size_class_outgrows(uint64_t live_bytes)
{
    return live_bytes > atomic_load_explicit(&size_class_exclusive_most, memory_order_relaxed);
}

/* From now on malloc takes packed blocks for the requests that it took this exclusive class for. Of
   threads that race all store the same. */
void size_class_pack(unsigned size_class);

/* Whether that is done, or the class is a packed one. */
bool size_class_is_packed(unsigned size_class);

/* The block's address modulo 2^32. */
static inline uint32_t magazine_low_address(const void *block)
{
    return (uint32_t)(uintptr_t)block;
}

/* The colour of the line that it begins in. */
static inline uint32_t magazine_colour(const void *block)
{
    return (uint32_t)((uintptr_t)block >> LINE_SHIFT) % MAGAZINE_COLOURS;
}

/* The block without what is said of it. */
static inline void *magazine_block(uintptr_t cached)
{
    return (void *)(cached & ~(uintptr_t)MAGAZINE_UNTOUCHED);
}

#endif
