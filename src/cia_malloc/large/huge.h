/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks that are a mapping each: those above 512 KiB. Mappings of freed blocks are kept for others
 * for a while: see huge_cache.h.
 *
 * With CIA_HARDEN=1 every block above the last class is one, as long as they are not very many. The
 * pages before and behind those of the block are guard pages, and stay when it is resized. Those of
 * a freed block are guard pages too, without memory, while its mapping is kept: no other block
 * begins there until many others were freed.
 */
#ifndef MPLACE_CIA_HUGE_H
#define MPLACE_CIA_HUGE_H

#include "cia_malloc/large/huge_cache.h"

/* Whether a block that could do with a run of pages is to have a mapping, with guard pages. */
bool huge_guarded_is_wanted(void);

/*
 * A block of bytes, aligned to a power of two, on the memory node. It begins at that colour if its
 * alignment is no more than a line. NULL when out of memory; *zeroed: it reads as zero. No lock.
 */
void *huge_allocate(size_t bytes, size_t alignment, uint32_t colour, uint8_t node, bool *zeroed);

/* The huge block at the address, or NULL: that is of a chunk, or of nobody. The process ends if one
   begins in the same page and not there. */
struct huge *huge_at(const void *address);

/* Where the block's pages end. */
static inline char *huge_end(const struct huge *huge)
{
    return huge->base + huge->used_bytes;
}

/* Keeps the mapping for another block for a while, or gives it back. */
void huge_free(struct huge *huge);

/*
 * The block with at least new_bytes usable bytes, its contents kept, without a copy: in place, or
 * its pages moved elsewhere. NULL, nothing changed, when that cannot be done.
 */
void *huge_resize(struct huge *huge, size_t new_bytes);

#endif
