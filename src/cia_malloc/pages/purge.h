/*
 * SPDX-License-Identifier: MIT
 *
 * Where unused pages go back to the kernel: which of them, and when (those whose decay time is
 * over, see decay_policy.h, those above the bound of what may stay, or all), and the work itself.
 * The page heap's lock does not wait for the kernel: pages are chosen under the lock, their chunk
 * is in work, the thread that chose them purges them when it has given up the lock, and what came
 * of it is taken in under the lock again. Pages are populated by the same way. The system calls
 * are page_source.c's.
 */
#ifndef MPLACE_CIA_PURGE_H
#define MPLACE_CIA_PURGE_H

#include "cia_malloc/pages/page_heap_state.h"

/* Under the lock: a chunk in work is to be purged, which ends with page_work_take_in; another one,
   in no circle any more, is to be destroyed. */
void page_work_add(struct page_heap *heap, struct chunk *chunk);

/* Under the lock: chooses all dirty pages, and all empty chunks except, unless last_too, one.
   Returns how many pages. */
uint32_t purge_all(struct page_heap *heap, bool last_too);

/* Under the lock: chooses what is due by now, at most so many pages: for a sub-heap where nobody
   takes or returns runs any more. */
void purge_due(struct page_heap *heap, uint64_t now, uint32_t most);

/* Under the lock, before a run is taken or returned: the same, a little at a time. */
void purge_some(struct page_heap *heap);

/* Under the lock, after runs were returned: keeps the dirty pages within the bound. */
void purge_after_return(struct page_heap *heap);

/*
 * Under the lock: purges pages of a run at once; a huge page that they are a part of is split, and
 * what is free of it is dirty then. Adds to *purged how many went. False: they stay, for the kernel
 * refused them, or the chunk stays huge.
 */
bool purge_in_run(struct chunk *chunk, uint32_t first, uint32_t pages, uint32_t *purged);

/* Under the lock: whether there is any work, for the thread that gives up the lock. */
static inline bool page_work_is_there(const struct page_heap *heap)
{
    return heap->work.chunks != NULL || heap->work.populate.count != 0;
}

/* Under the lock: takes what was chosen. */
void page_work_take(struct page_heap *heap, struct page_work *work);

/* Without the lock: does it, and hands the chunks back. */
void page_work_do(struct page_heap *heap, struct page_work *work);

/* Under the lock: takes in the chunks whose work is done. */
void page_work_take_in(struct page_heap *heap);

/* In the child of a fork: no other thread has work in hand. */
void page_work_after_fork(struct page_heap *heap);

#endif
