/*
 * SPDX-License-Identifier: MIT
 *
 * Which unused pages go back to the kernel, and when: those whose decay time is over
 * (decay_policy.h), those above the bound of what may stay, or all. All of it under the lock: what
 * is chosen goes when the lock is given up (page_work.h), by page_source_purge and
 * page_source_unmap.
 */
#ifndef MPLACE_CIA_PURGE_H
#define MPLACE_CIA_PURGE_H

#include "cia_malloc/pages/page_heap_state.h"

/* Chooses all dirty pages, and all empty chunks except, unless last_too, one. Returns how many
   pages. */
uint32_t purge_all(struct page_heap *heap, bool last_too);

/* Chooses what is due by now, at most so many pages: for a sub-heap where nobody takes or returns
   runs any more. */
void purge_due(struct page_heap *heap, uint64_t now, uint32_t most);

/* Before a run is taken or returned: the same, a little at a time. */
void purge_some(struct page_heap *heap);

/* After runs were returned: keeps the dirty pages within the bound. */
void purge_after_return(struct page_heap *heap);

#endif
