/*
 * SPDX-License-Identifier: MIT
 *
 * Choosing a chunk and keeping memory within bounds; see page_heap.h.
 */
#include "cia_malloc/page_heap.h"

#include "base/memory_nodes.h"

enum {
    CHUNK_PROBES = 8, /* chunks with room looked at before a new one is mapped */
    /* A chunk with fewer free pages than this is not looked at until it has four times as many. */
    ROOM_PAGES = 16,
    /* Free pages kept populated for the next run: 8 MiB, or an eighth of what is in use. */
    DIRTY_PAGES_LEAST = 2048,
    /* Pages purged in one call: 4 MiB take the kernel some hundred microseconds. */
    PURGE_PAGES_MOST = 1024,
};

void page_heap_initialise(struct page_heap *heap, struct subheap *owner)
{
    heap->owner = owner;
    heap->node = MEMORY_NODE_UNKNOWN;
    heap->purge_at = DIRTY_PAGES_LEAST;
}

static struct chunk **circle_of(struct page_heap *heap, const struct chunk *chunk)
{
    return chunk->has_room ? &heap->roomy : &heap->full;
}

static void insert(struct page_heap *heap, struct chunk *chunk, bool has_room)
{
    chunk->has_room = has_room;
    struct chunk **first = circle_of(heap, chunk);
    if (*first == NULL) {
        chunk->next = chunk->previous = chunk;
    } else {
        chunk->next = *first;
        chunk->previous = (*first)->previous;
        chunk->previous->next = chunk;
        (*first)->previous = chunk;
    }
    *first = chunk;
}

static void take_out(struct page_heap *heap, struct chunk *chunk)
{
    struct chunk **first = circle_of(heap, chunk);

    if (chunk->next == chunk) {
        *first = NULL;
        return;
    }
    chunk->previous->next = chunk->next;
    chunk->next->previous = chunk->previous;
    if (*first == chunk)
        *first = chunk->next;
}

/* Takes pages from one chunk, preferred ones or any that are allowed, and keeps the sums. */
static bool take_from_chunk(struct page_heap *heap, struct chunk *chunk,
                            const struct page_request *request, bool preferred,
                            struct page_run *run)
{
    uint32_t dirty_before = chunk->dirty_pages;
    int first = chunk_take_pages(
        chunk, request->pages, preferred ? request->preferred_modulus : request->modulus,
        preferred ? request->preferred_residue : request->residue, &run->clean);

    if (first < 0)
        return false;
    run->chunk = chunk;
    run->page = (uint32_t)first;
    heap->used_pages += request->pages;
    heap->dirty_pages -= dirty_before - chunk->dirty_pages;
    if (!request->populated_later)
        chunk_touch(chunk, run->page, request->pages);
    if (chunk->has_room && CHUNK_PAGES - chunk->used_pages < ROOM_PAGES) {
        take_out(heap, chunk);
        insert(heap, chunk, false);
    }
    return true;
}

/* Goes round a circle for so many chunks. */
static bool take_from_circle(struct page_heap *heap, struct chunk **circle, uint32_t probes,
                             const struct page_request *request, bool preferred,
                             struct page_run *run)
{
    struct chunk *begin = *circle;
    struct chunk *chunk = begin;

    for (; chunk != NULL && probes > 0; probes--) {
        if (take_from_chunk(heap, chunk, request, preferred, run))
            return true;
        chunk = chunk->next;
        if (chunk == begin)
            break;
    }
    *circle = chunk; /* the next search begins with others */
    return false;
}

static bool take_from_new_chunk(struct page_heap *heap, const struct page_request *request,
                                struct page_run *run)
{
    struct chunk *chunk = chunk_create(heap->owner, heap->node);

    if (chunk == NULL)
        return false;
    insert(heap, chunk, true);
    heap->chunk_count++;
    return take_from_chunk(heap, chunk, request, true, run);
}

bool page_heap_take(struct page_heap *heap, const struct page_request *request,
                    struct page_run *run)
{
    return take_from_circle(heap, &heap->roomy, CHUNK_PROBES, request, true, run) ||
           (request->preferred_modulus != request->modulus &&
            take_from_circle(heap, &heap->roomy, CHUNK_PROBES, request, false, run)) ||
           take_from_new_chunk(heap, request, run) ||
           /* No more chunks are to be had: look at all of them. */
           take_from_circle(heap, &heap->roomy, heap->chunk_count, request, false, run) ||
           take_from_circle(heap, &heap->full, heap->chunk_count, request, false, run);
}

static uint32_t purge_circle(struct page_heap *heap, struct chunk *chunk, uint32_t most)
{
    struct chunk *begin = chunk;
    uint32_t purged = 0;

    while (chunk != NULL && purged < most) {
        if (chunk->dirty_pages > 0)
            purged += chunk_purge(chunk, most - purged);
        chunk = chunk->next;
        if (chunk == begin)
            break;
    }
    heap->dirty_pages -= purged;
    return purged;
}

static uint32_t purge(struct page_heap *heap, uint32_t most)
{
    uint32_t purged = purge_circle(heap, heap->roomy, most);

    if (purged < most)
        purged += purge_circle(heap, heap->full, most - purged);
    return purged;
}

uint32_t page_heap_purge(struct page_heap *heap)
{
    return purge(heap, UINT32_MAX);
}

/* Keeps the dirty pages within bounds, a bounded number of them a call. */
static void purge_some(struct page_heap *heap)
{
    if (purge(heap, PURGE_PAGES_MOST) == 0) /* the program has locked its memory: do not insist */
        heap->purge_at = 2 * heap->dirty_pages;
    else
        heap->purge_at = DIRTY_PAGES_LEAST;
}

void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages)
{
    uint32_t dirty_before = chunk->dirty_pages;

    chunk_return_pages(chunk, page, pages);
    heap->used_pages -= pages;
    heap->dirty_pages += chunk->dirty_pages - dirty_before;

    if (chunk->used_pages == 0 && heap->chunk_count > 1) {
        take_out(heap, chunk);
        heap->chunk_count--;
        heap->dirty_pages -= chunk->dirty_pages;
        chunk_destroy(chunk);
    } else if (!chunk->has_room && CHUNK_PAGES - chunk->used_pages >= 4 * ROOM_PAGES) {
        take_out(heap, chunk);
        insert(heap, chunk, true);
    }
    if (heap->dirty_pages > heap->purge_at && heap->dirty_pages > heap->used_pages / 8)
        purge_some(heap);
}

static void visit_circle(struct chunk *chunk, void (*visit)(struct chunk *chunk))
{
    struct chunk *begin = chunk;
    uint32_t count = 0;

    /* Chunks leave the circle meanwhile: count them first, and read each one's next before. */
    for (; chunk != NULL; chunk = chunk->next) {
        count++;
        if (chunk->next == begin)
            break;
    }
    for (chunk = begin; count > 0; count--) {
        struct chunk *next = chunk->next;

        visit(chunk);
        chunk = next;
    }
}

void page_heap_visit(struct page_heap *heap, void (*visit)(struct chunk *chunk))
{
    visit_circle(heap->roomy, visit);
    visit_circle(heap->full, visit);
}
