/*
 * SPDX-License-Identifier: MIT
 *
 * The pages of one sub-heap: its chunks, and which of them to look into for a run. All of it under
 * the sub-heap's lock. Called once a run, not once a block.
 *
 * Free pages stay populated for a while: the next run finds them. purge.h says which go.
 *
 * What asks the kernel waits until the lock is given up: see purge.h.
 */
#ifndef MPLACE_CIA_PAGE_HEAP_H
#define MPLACE_CIA_PAGE_HEAP_H

#include "cia_malloc/pages/page_heap_state.h"

/*
 * Looks for the pages in a bounded number of chunks, then maps a new one, for which the lock is
 * given up and taken again. False: out of memory. For a few milliseconds after the kernel refused a
 * chunk, none is asked for: as memory ends, every call would ask in vain, of each sub-heap that it
 * tries.
 */
bool page_heap_take(struct page_heap *heap, const struct page_request *request,
                    struct page_run *run);

/* Lets this thread's next call of page_heap_take ask for a chunk in any case: before a malloc is to
   fail. */
void page_heap_ask_again(void);

/* Gives a run back, and purges what is due. The chunk may be gone afterwards. */
void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages);

/* Gives a run back and purges nothing: no chunk goes. */
void page_heap_put(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages);

/* Pages in runs of all sub-heaps, in bytes; each of them may have up to a MiB more or less. */
size_t page_heap_used_bytes(void);

/* Reads CIA_HUGE_PAGES. Before the first sub-heap is made; idempotent. */
void page_heap_read_setting(void);

#endif
