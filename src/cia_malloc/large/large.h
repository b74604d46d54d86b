/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks above the last class. Up to 512 KiB: a run of pages in a chunk that is one block. Longer:
 * a mapping of its own, see huge.h.
 *
 * Both begin at a colour taken in turn, not at random: 128 random draws leave about 9 of 64 sets
 * empty. The colour comes out of the slack of rounding to pages where that is enough, and costs a
 * page more where it is not. There is a turn for each length in pages (modulo 64), so that two
 * kinds of buffer that are allocated in alternation do not get every other colour each.
 */
#ifndef MPLACE_CIA_LARGE_H
#define MPLACE_CIA_LARGE_H

#include "cia_malloc/heap/block.h"
#include "cia_malloc/large/huge.h"

/* Whether a block of bytes, aligned to a power of two, is of no class. */
static inline bool large_is_needed(size_t bytes, size_t alignment)
{
    /* Alignments from here on get whole pages: taking a longer block would cost as much. */
    enum { PAGE_RUN_ALIGNMENT = 2048 };
    size_t more = alignment > LINE_BYTES ? alignment - LINE_BYTES : 0;

    return bytes > SIZE_CLASS_LARGEST - more || alignment >= PAGE_RUN_ALIGNMENT;
}

/*
 * A block of bytes for which large_is_needed, aligned to a power of two. An alignment of up to a
 * line gets a colour in turn; a greater one is kept exactly. The sub-heap is locked on entry and
 * unlocked on return, so that mmap and page faults happen outside the lock. NULL when out of
 * memory; *zeroed: the block reads as zero.
 */
void *large_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment, bool *zeroed);

#endif
