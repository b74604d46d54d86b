/*
 * SPDX-License-Identifier: MIT
 *
 * The pages of one sub-heap: its chunks, which of them to look into for a run, and how many free
 * pages stay populated. All of it under the sub-heap's lock. Called once a run, not once a block.
 *
 * Free pages stay populated for a while (decay_policy.h): the next run finds them. More than
 * DIRTY_PAGES_LEAST of them, and more than an eighth of what is in use, do not stay.
 *
 * What asks the kernel waits until the lock is given up: see struct page_work.
 */
#ifndef MPLACE_CIA_PAGE_HEAP_H
#define MPLACE_CIA_PAGE_HEAP_H

#include "cia_malloc/pages/chunk.h"
#include "cia_malloc/pages/decay_policy.h"

/* Where a chunk is looked for. Each is a circle, what came last at its beginning. */
enum chunk_circle {
    CHUNKS_WITH_SLACK, /* room for a run: looked at in turn */
    CHUNKS_FULL,       /* nearly full: only when there is no memory */
    CHUNKS_EMPTY,      /* no run: looked at before a new chunk is mapped, given back in one piece */
    CHUNK_CIRCLES,
};

/* Work that was chosen under the lock, for the thread that chose it: see chunk.h. */
struct page_work {
    struct chunk *chunks;  /* to be purged or joined, by work_next */
    struct chunk *destroy; /* to be destroyed, likewise: they are in no circle any more */
    struct pending_pages populate;
};

/* The lock that this is under. */
struct page_heap_lock {
    void (*give_up)(struct subheap *owner); /* and does the work that waits for it */
    void (*take)(struct subheap *owner);    /* waits */
};

struct page_heap {
    struct subheap *owner;             /* constant: whose chunks these are */
    const struct page_heap_lock *lock; /* constant */
    uint8_t node; /* of their pages: constant once there is a chunk; MEMORY_NODE_UNKNOWN
                     unless set */
    struct chunk *circle[CHUNK_CIRCLES];
    uint32_t chunk_count;
    uint32_t used_pages; /* in all chunks */
    uint32_t dirty_pages;
    uint32_t published_pages; /* what page_heap_used_bytes counts of used_pages */
    bool joining;             /* there may be halves to join to huge pages */
    uint32_t refused_pages;   /* dirty when the kernel last refused to purge; 0: it did not */
    uint32_t chunks_in_work;
    _Atomic uint32_t populating;  /* threads that populate pages without the lock: no chunk goes */
    struct page_work work;        /* chosen since the lock was taken */
    _Atomic(struct chunk *) done; /* whose work is done: pushed by compare-and-swap (release)
                                     without the lock, taken whole by exchange (acquire) under it */
    struct decay decay;
    uint64_t changed_at;       /* when a run was last taken or returned */
    uint64_t trimmed_at;       /* changed_at at the last trim, see housekeeping.h */
    uint64_t gather_failed_at; /* when a trim for want of memory last brought none; 0: not yet */
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

void page_heap_initialise(struct page_heap *heap, struct subheap *owner,
                          const struct page_heap_lock *lock);

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

/* Whether a trim of this one for want of memory is worth the walk: not again in those milliseconds
   if it brought nothing. */
bool page_heap_may_trim(const struct page_heap *heap);

/* Gives a run back. The chunk may be gone afterwards. */
void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages);

/* Chooses all dirty pages for purging, and all empty chunks to be given back but, unless the last
   one may go too, one. Returns how many pages. */
uint32_t page_heap_purge(struct page_heap *heap, bool last_too);

/*
 * Chooses what is due by now, so many pages at most. page_heap_take and page_heap_return do it with
 * some; this is for a sub-heap where nobody calls them any more.
 */
void page_heap_decay(struct page_heap *heap, uint64_t now, uint32_t most);

/* Whether there is work, for whoever gives up the lock; who takes it and does it without the lock;
   and hands the chunks back. Under the lock they are taken in again. */
static inline bool page_heap_has_work(const struct page_heap *heap)
{
    return heap->work.chunks != NULL || heap->work.destroy != NULL ||
           heap->work.populate.count != 0;
}
void page_heap_take_work(struct page_heap *heap, struct page_work *work);
void page_work_do(struct page_heap *heap, struct page_work *work);
void page_heap_take_in(struct page_heap *heap);

/* In the child of a fork: no other thread has work in hand. */
void page_heap_after_fork(struct page_heap *heap);

/* Pages in runs of all sub-heaps, in bytes; each of them may have up to a MiB more or less. */
size_t page_heap_used_bytes(void);

/* Reads CIA_HUGE_PAGES. Before the first sub-heap is made; idempotent. */
void page_heap_read_setting(void);

/*
 * Calls visit for each chunk. It may return runs of that chunk, and so make it change its circle or
 * go away, but not touch other chunks.
 */
void page_heap_visit(struct page_heap *heap, void (*visit)(struct chunk *chunk));

#endif
