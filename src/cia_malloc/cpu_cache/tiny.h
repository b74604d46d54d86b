/*
 * SPDX-License-Identifier: MIT
 *
 * CIA_TINY=1: requests of up to 32 B get blocks of 16 or 32 B, several of which share a line. What
 * is given up is the line of its own that every other block has, and with it that the blocks of a
 * program lie evenly over the L1 sets: 64 tiny ones in a row are in 16 or 32 sets, one each.
 *
 * What is not given up: a line is one CPU's. A tiny block waits only in a magazine of the CPU whose
 * sub-heap has its page, and is served only there; freed on another CPU, it is returned. So no two
 * CPUs are handed blocks of one line, but where a thread takes its blocks along to another CPU, or
 * found the sub-heap of its CPU taken.
 *
 * The magazine is one like those of the classes, but a plain stack in boxes of 64: what it counts
 * of colours means nothing, and nobody looks. What that notices of double frees, and more, the mark
 * does, see tiny_heap.h.
 *
 * The fast paths of allocator.h know nothing of this. malloc finds, for up to a line, the place of
 * a magazine that is always empty, and free finds that no block begins where this one does: both
 * call on, and so come here.
 */
#ifndef MPLACE_CIA_TINY_H
#define MPLACE_CIA_TINY_H

#include "cia_malloc/cpu_cache/magazine.h"
#include "cia_malloc/heap/block.h"
#include "cia_malloc/heap/tiny_heap.h"

/* Whether a request is to be served here. */
static inline bool tiny_serves(size_t bytes)
{
    return bytes <= TINY_LARGEST && magazines_have_tiny();
}

/*
 * By sequences, with tiny blocks, for requests of up to a line: the newest block that waits, or
 * NULL. Those of more than TINY_LARGEST are served here as well, because the fast path of malloc
 * has no other place for them.
 */
void *tiny_pop(size_t bytes);

/* A block for such a request; NULL when out of memory. Its contents are what they are. */
void *tiny_allocate(size_t bytes);

/*
 * As memory ends, for the holder of the lock of whichever CPU's sub-heap: a block for a request that
 * tiny_serves; NULL when it has none and cannot grow.
 */
void *tiny_take_from(struct subheap *heap, size_t bytes);

/* For a page with page_info_is_tiny. The process ends if it is no block, or a free one. */
void tiny_free(const struct page_info *info, void *block);

/* Length of a block there; the process ends if it is none. */
size_t tiny_usable(const struct page_info *info, const void *block);

#endif
