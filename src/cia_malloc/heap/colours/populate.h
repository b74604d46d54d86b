/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks that were never used get their pages before they are handed out: a program that writes to
 * such a block first within a transaction would abort it by a page fault, and meet the same fault
 * at its next attempt. All of it under the lock of the sub-heap that owns the chunk.
 *
 *     invariant    pages of a block that is handed out are touched, as struct chunk says
 *     invariant    a block's bit in span.untouched  =>  it reads as zero
 *
 * Blocks of up to 16 KiB are populated whole; of longer ones the first page and the last, and the
 * rest is the program's to touch.
 */
#ifndef MPLACE_CIA_POPULATE_H
#define MPLACE_CIA_POPULATE_H

#include "cia_malloc/heap/size_classes/size_class.h"
#include "cia_malloc/pages/chunk.h"

/* A transaction that writes more than this fails for its size. With blocks of 52 KB whose ends
   alone are written, all of each cost a sequence of a compiler's sizes 5.5 MB of 18. */
enum { POPULATED_WHOLE_BYTES = 16 << 10 };

static inline bool populates_whole(unsigned size_class)
{
    return size_class_bytes(size_class) <= POPULATED_WHOLE_BYTES + LINE_BYTES;
}

/*
 * Before blocks that are untouched, by their bits in the span, are handed out. Populates what
 * follows them as well, 64 KiB with them at most, and no more than an eighth of what is live in the
 * class: who uses few blocks gets few pages.
 */
void populate_blocks(const struct span *span, uint64_t bits, uint64_t live_bytes);

/*
 * For a run just carved of pages of which some were touched: the spans' untouched words become
 * right, and blocks that lie on pages of both kinds get those that they lack.
 */
void populate_rest(struct chunk *chunk, uint32_t page, uint32_t pages);

/*
 * Of a run with live blocks: purges the pages that none of them is on, and makes the free blocks
 * that were on these read as zero, which their spans' untouched words say then. For malloc_trim: it
 * asks the kernel under the lock, once for each stretch of pages. Adds to the class's count of
 * untouched blocks. Returns how many pages went; none with CIA_HARDEN=1.
 */
uint32_t populate_give_back(struct chunk *chunk, uint32_t page, uint64_t *untouched);

#endif
