/*
 * SPDX-License-Identifier: MIT
 *
 * Which class malloc takes for a request, an exclusive or a packed one: CIA_LINES. One table, by
 * the length of the request, says that and where the class's magazine is. How long the blocks of
 * each class are is in size_class.c; when a class is packed, in cpu_cache/packing.c.
 */
#ifndef MPLACE_CIA_REQUEST_CLASS_H
#define MPLACE_CIA_REQUEST_CLASS_H

#include "cia_malloc/heap/size_classes/cached_block.h"

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

#endif
