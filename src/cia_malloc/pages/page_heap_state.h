/*
 * SPDX-License-Identifier: MIT
 *
 * What a page heap consists of, for the units that work on it: page_heap and page_work. And its
 * chunks, in circles by how much room a chunk has. All of it under the sub-heap's lock, except
 * where it says something else.
 */
#ifndef MPLACE_CIA_PAGE_HEAP_STATE_H
#define MPLACE_CIA_PAGE_HEAP_STATE_H

#include "cia_malloc/pages/chunk.h"
#include "cia_malloc/pages/decay_policy.h"

/* Where a chunk is looked for. Each is a circle, what came last at its beginning. They are purged
   in this order, see chunk_to_purge. */
enum chunk_circle {
    CHUNKS_EMPTY,      /* no run: looked at before a new chunk is mapped, given back in one piece */
    CHUNKS_WITH_SLACK, /* room for a run: looked at in turn */
    CHUNKS_FULL,       /* nearly full: only when there is no memory */
    CHUNK_CIRCLES,
};

/* Work that was chosen under the lock, for the thread that chose it: see chunk.h. */
struct page_work {
    /* By work_next. Those in work are to be purged; others, in no circle, to be destroyed. */
    struct chunk *chunks;
    struct pending_pages populate;
};

/* The lock that this is under. */
struct page_heap_lock {
    void (*give_up)(struct subheap *owner); /* and does the work that waits for it */
    void (*take)(struct subheap *owner);    /* waits */
};

/* Begins as all zero but for its first three fields. */
struct page_heap {
    struct subheap *owner;             /* constant: whose chunks these are */
    const struct page_heap_lock *lock; /* constant */
    uint8_t node;                      /* constant: of their pages; or MEMORY_NODE_UNKNOWN */
    struct circle_link *circle[CHUNK_CIRCLES];
    /* By dirty_link, of each circle: the chunks that have dirty pages and are not in work. A purge
       looks at no others, of which there may be thousands. */
    struct circle_link *dirty[CHUNK_CIRCLES];
    struct circle_link *with_idle_runs; /* idle_run_link of chunks that may have an idle run */
    uint32_t chunk_count;
    uint32_t mapped_pages; /* of the chunks */
    uint32_t used_pages;   /* in all chunks */
    uint32_t dense_pages;  /* of those, in runs whose blocks are populated whole before the program
                              has them; kept by the sub-heap */
    uint32_t dirty_pages;
    uint32_t published_pages; /* what page_heap_used_bytes counts of used_pages */
    uint32_t refused_pages;   /* dirty when the kernel last refused to purge; 0: it did not */
    uint32_t chunks_in_work;
    _Atomic uint32_t populating;  /* threads that populate pages without the lock: no chunk goes */
    struct page_work work;        /* chosen since the lock was taken */
    _Atomic(struct chunk *) done; /* whose work is done: pushed by compare-and-swap (release)
                                     without the lock, taken whole by exchange (acquire) under it */
    struct decay decay;
    uint64_t changed_at; /* when a run was last asked for or returned; a trim's own do not count */
    uint64_t trimmed_at; /* changed_at at the last trim, see housekeeping.h */
    uint64_t gather_failed_at; /* when a trim for want of memory last brought none; 0: not yet */
};

/* At the beginning of a circle; the chunk is in none. */
void chunk_circle_insert(struct page_heap *heap, struct chunk *chunk, enum chunk_circle circle);

/* After each change of a chunk's used pages, dirty pages or worker: moves it to the circle where it
   belongs, and makes it the last one to purge of it, or none. */
void chunk_circle_update(struct page_heap *heap, struct chunk *chunk);

/* The last one of a circle, or NULL. */
static inline struct chunk *chunk_circle_last(const struct page_heap *heap,
                                              enum chunk_circle circle)
{
    return heap->circle[circle] != NULL ? (struct chunk *)heap->circle[circle]->previous : NULL;
}

/* The one before it; NULL: it is the first one. So a walk from the last one on may move each chunk
   to another circle once it knows the one before. */
static inline struct chunk *chunk_circle_before(const struct page_heap *heap,
                                                enum chunk_circle circle, const struct chunk *chunk)
{
    return &chunk->link != heap->circle[circle] ? (struct chunk *)chunk->link.previous : NULL;
}

/* The chunk with that link, which has so many bytes of it before it; NULL where there is none. */
static inline struct chunk *chunk_with(struct circle_link *link, size_t before)
{
    return link != NULL ? (struct chunk *)(void *)((char *)link - before) : NULL;
}

/*
 * The first one to purge of a circle, or NULL: one that was purged in part, else the one that
 * changed longest ago. Not the order of the circle, for that is turned round by searches: as much
 * goes back in any order, and the chunks that runs are taken from now lose their pages last.
 */
static inline struct chunk *chunk_to_purge(const struct page_heap *heap, enum chunk_circle circle)
{
    return chunk_with(heap->dirty[circle], offsetof(struct chunk, dirty_link));
}

/* One that may have an idle run, or NULL. */
static inline struct chunk *chunk_that_may_have_idle_run(const struct page_heap *heap)
{
    return chunk_with(heap->with_idle_runs, offsetof(struct chunk, idle_run_link));
}

#endif
