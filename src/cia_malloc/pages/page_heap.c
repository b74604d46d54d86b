/*
 * SPDX-License-Identifier: MIT
 *
 * Choosing a chunk for a run; see page_heap.h.
 */
#include "cia_malloc/pages/page_heap.h"

#include "base/settings.h"
#include "cia_malloc/pages/allocator_mode.h"
#include "cia_malloc/pages/purge.h"

enum {
    CHUNK_PROBES = 8, /* chunks with room looked at before those that have none yet */
    /* And before a new one is mapped, which costs much more: 512 MiB of them. A hole that is not
       among them is found by a later call, for each begins behind the last. */
    CHUNK_PROBES_MOST = 128,
    /* The first chunk of a sub-heap, and others where there is no memory for more: a program under
       a narrow limit of its address space, or one that locks all of it, may have no 4 MiB. */
    SMALL_CHUNK_PAGES = (256 << 10) / PAGE_BYTES,

    /*
     * With CIA_HUGE_PAGES=auto a chunk asks for huge pages if the sub-heap has so many dense pages,
     * and all else in its chunks is at most this part of them: the kernel fills in what the
     * program does not touch, gaps between runs and long blocks of which it uses little. One run of
     * each class, of which a program may use a block, is 1281 pages.
     */
    HUGE_FROM_PAGES = CHUNK_PAGES * 3 / 2,
    NOT_DENSE_PART = 24,
    /* How far what a sub-heap has in use may be from what is published of it. */
    UNPUBLISHED_PAGES = 256,
};

/* CIA_HUGE_PAGES. Relaxed, as in decay_policy.c. */
enum { HUGE_NEVER, HUGE_ALWAYS, HUGE_AUTO };
static _Atomic uint32_t huge_mode = HUGE_AUTO;

/*
 * Pages in runs of all sub-heaps. Each sub-heap adds what it has changed by when that is a MiB, so
 * that CPUs at work do not write a common line.
 */
static _Alignas(LINE_BYTES) atomic_size_t used_pages_published;

void page_heap_read_setting(void)
{
    static const char *const choices[] = {"0", "1", "auto"};

    atomic_store_explicit(&huge_mode,
                          (uint32_t)setting_choice("CIA_HUGE_PAGES", choices, 3, HUGE_AUTO),
                          memory_order_relaxed);
}

size_t page_heap_used_bytes(void)
{
    return atomic_load_explicit(&used_pages_published, memory_order_relaxed) * PAGE_BYTES;
}

static void publish(struct page_heap *heap)
{
    uint32_t change = heap->used_pages - heap->published_pages; /* modulo 2^32 when negative */

    if (change + UNPUBLISHED_PAGES <= 2 * UNPUBLISHED_PAGES)
        return;
    atomic_fetch_add_explicit(&used_pages_published, (size_t)(int32_t)change, memory_order_relaxed);
    heap->published_pages = heap->used_pages;
}

/* Takes pages from one chunk, and keeps the sums. */
static bool take_from_chunk(struct page_heap *heap, struct chunk *chunk,
                            const struct page_request *request, bool preferred,
                            struct page_run *run)
{
    uint32_t dirty_before = chunk->dirty_pages;

    if (!chunk_take_pages(chunk, request, preferred, run))
        return false;
    heap->used_pages += request->pages;
    heap->dirty_pages -= dirty_before - chunk->dirty_pages;
    chunk_circle_update(heap, chunk);
    return true;
}

/* Goes round a circle for so many chunks. */
static bool take_from_circle(struct page_heap *heap, enum chunk_circle circle, uint32_t probes,
                             const struct page_request *request, bool preferred,
                             struct page_run *run)
{
    struct circle_link *head = heap->circle[circle], *link = head;

    for (; link != NULL && probes > 0; probes--) {
        if (take_from_chunk(heap, (struct chunk *)link, request, preferred, run))
            return true;
        link = circle_next(head, link);
    }
    heap->circle[circle] = link != NULL ? link : head; /* the next search begins with others */
    return false;
}

/* Whether so much of the heap's chunks is dense that the next one may be huge pages. */
static bool is_dense(const struct page_heap *heap)
{
    uint32_t dense = heap->dense_pages;

    return dense >= HUGE_FROM_PAGES && heap->mapped_pages <= dense + dense / NOT_DENSE_PART;
}

/*
 * When the kernel last refused a chunk, or 0. Relaxed: a thread that reads an old value asks once
 * more, or once less.
 */
static _Atomic uint64_t refused_at;

/* This thread asks all the same, once: others may be refused meanwhile. */
static __attribute__((tls_model("initial-exec"))) _Thread_local bool asks_again;

void page_heap_ask_again(void)
{
    asks_again = true;
}

static bool take_from_new_chunk(struct page_heap *heap, const struct page_request *request,
                                struct page_run *run)
{
    if (!asks_again && decay_is_recent(atomic_load_explicit(&refused_at, memory_order_relaxed)))
        return false;
    asks_again = false;
    uint32_t mode = atomic_load_explicit(&huge_mode, memory_order_relaxed);
    bool huge = mode == HUGE_ALWAYS || (mode == HUGE_AUTO && is_dense(heap));
    /* The least that serves the request at any residue. Hardened, a chunk has guard pages at its
       ends: it is to fill its 4 MiB. */
    bool fits = request->pages + request->modulus <= SMALL_CHUNK_PAGES && !harden_is_on();
    uint32_t small = fits ? SMALL_CHUNK_PAGES : CHUNK_PAGES;
    uint32_t pages = heap->chunk_count == 0 && !huge ? small : CHUNK_PAGES;

    heap->lock->give_up(heap->owner);
    if (huge && mode == HUGE_AUTO)
        huge = page_source_huge_pages_are_given();
    struct chunk *chunk = chunk_create(pages, heap->node, huge);
    if (chunk == NULL && small < pages)
        chunk = chunk_create(small, heap->node, false);
    heap->lock->take(heap->owner);
    /* Other threads may have found no room either, and some may be before this one. Else each of
       them would add a chunk for one run. */
    bool found = take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES, request, true, run) ||
                 take_from_circle(heap, CHUNKS_EMPTY, CHUNK_PROBES, request, true, run);
    if (chunk == NULL && !found)
        atomic_store_explicit(&refused_at, decay_clock(), memory_order_relaxed);
    if (chunk == NULL)
        return found;
    chunk->owner = heap->owner;
    chunk->pending = &heap->work.populate;
    chunk->with_idle_runs = &heap->with_idle_runs;
    chunk->stays_huge = mode == HUGE_ALWAYS;
    if (found) {
        page_work_add(heap, chunk);
        return true;
    }
    chunk_circle_insert(heap, chunk, CHUNKS_EMPTY);
    heap->chunk_count++;
    heap->mapped_pages += chunk->mapped_pages;
    heap->dirty_pages += chunk->dirty_pages;
    return take_from_chunk(heap, chunk, request, true, run) ||
           take_from_chunk(heap, chunk, request, false, run);
}

bool page_heap_take(struct page_heap *heap, const struct page_request *request,
                    struct page_run *run)
{
    purge_some(heap); /* before: what comes and goes all the time is not new each time */
    bool taken =
        take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES, request, true, run) ||
        (request->avoid != 0 &&
         take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES, request, false, run)) ||
        take_from_circle(heap, CHUNKS_EMPTY, CHUNK_PROBES, request, true, run) ||
        take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES_MOST, request, false, run) ||
        take_from_circle(heap, CHUNKS_EMPTY, CHUNK_PROBES, request, false, run) ||
        take_from_new_chunk(heap, request, run) ||
        take_from_circle(heap, CHUNKS_WITH_SLACK, heap->chunk_count, request, false, run) ||
        take_from_circle(heap, CHUNKS_FULL, heap->chunk_count, request, false, run);

    publish(heap);
    return taken;
}

void page_heap_put(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages)
{
    uint32_t dirty_before = chunk->dirty_pages;

    chunk_return_pages(chunk, page, pages);
    heap->used_pages -= pages;
    heap->dirty_pages += chunk->dirty_pages - dirty_before;
    publish(heap);
    chunk_circle_update(heap, chunk);
}

void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages)
{
    purge_some(heap); /* what was there before these is older */
    page_heap_put(heap, chunk, page, pages);
    purge_after_return(heap);
}
