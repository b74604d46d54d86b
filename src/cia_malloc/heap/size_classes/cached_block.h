/*
 * SPDX-License-Identifier: MIT
 *
 * What the class heaps know of magazines (cpu_cache/magazine.h): which blocks may be cached in one,
 * what is said in the address of a cached block, and where free and malloc find the magazine.
 */
#ifndef MPLACE_CIA_CACHED_BLOCK_H
#define MPLACE_CIA_CACHED_BLOCK_H

#include "cia_malloc/heap/size_classes/size_class.h"

#include <assert.h>

enum {
    CPU_HEAPS = 1024, /* CPU numbers beyond it share: right, only slower */

    /* Longer blocks are not cached. */
    MAGAZINE_LARGEST_LINES = 257,
    MAGAZINE_LARGEST = MAGAZINE_LARGEST_LINES * LINE_BYTES,
    CACHED_EXCLUSIVE_CLASSES = 35,

    MAGAZINE_COLOURS = 64, /* those of most machines; others modulo this */
    MAGAZINE_OF_A_COLOUR_MOST = LINE_BYTES / GRANULE_BYTES, /* those that begin in one line */

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
