/*
 * SPDX-License-Identifier: MIT
 *
 * The pages of one sub-heap: its chunks, which of them to look into for a run, and how many free
 * pages stay populated. All of it under the sub-heap's lock. Called once a run, not once a block.
 */
#ifndef MPLACE_CIA_PAGE_HEAP_H
#define MPLACE_CIA_PAGE_HEAP_H

#include "cia_malloc/chunk.h"

struct page_heap {
    struct subheap *owner; /* constant: whose chunks these are */
    uint8_t node;          /* of their pages: constant once there is a chunk; MEMORY_NODE_UNKNOWN
                              unless set */
    /* Circles: chunks that have room for a run, looked at in turn, and those that are nearly full.
     */
    struct chunk *roomy, *full;
    uint32_t chunk_count;
    uint32_t used_pages; /* in all chunks */
    uint32_t dirty_pages;
    uint32_t purge_at; /* purge when there are more dirty pages than this */
};

/*
 * A run of so many pages, beginning at a page whose number is residue modulo modulus (a power of
 * two), and if that is to be had at one that is preferred_residue modulo preferred_modulus. The
 * preferred pages are some of the allowed ones; without a preference both pairs are the same.
 */
struct page_request {
    uint32_t pages;
    uint32_t modulus, residue;
    uint32_t preferred_modulus, preferred_residue;
    bool populated_later; /* as populate.h does; else all pages count as touched at once */
};

struct page_run {
    struct chunk *chunk;
    uint32_t page; /* its first, counted in the chunk */
    bool clean;    /* every page reads as zero */
};

void page_heap_initialise(struct page_heap *heap, struct subheap *owner);

/* Looks for the pages in a bounded number of chunks, then maps a new one. False: out of memory. */
bool page_heap_take(struct page_heap *heap, const struct page_request *request,
                    struct page_run *run);

/* Gives a run back. The chunk may be gone afterwards. */
void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages);

/* Purges all dirty pages; returns how many. */
uint32_t page_heap_purge(struct page_heap *heap);

/*
 * Calls visit for each chunk. It may return runs of that chunk, and so make it change its circle or
 * go away, but not touch other chunks.
 */
void page_heap_visit(struct page_heap *heap, void (*visit)(struct chunk *chunk));

#endif
