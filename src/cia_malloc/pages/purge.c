/*
 * SPDX-License-Identifier: MIT
 *
 * See purge.h.
 */
#include "cia_malloc/pages/purge.h"

#include "cia_malloc/pages/chunk_circle.h"
#include "cia_malloc/pages/page_work.h"

enum {
    /* Free pages kept populated for the next run: 32 MiB, or an eighth of what is in use. With 8
       MiB a program that frees 25 MB at the end of each phase takes four times as long. */
    DIRTY_PAGES_LEAST = 8192,
    /* Pages purged by a malloc or free: 4 MiB take the kernel some hundred microseconds. */
    PURGE_PAGES_AT_ONCE = CHUNK_PAGES,
};

static void remove_chunk(struct page_heap *heap, struct chunk *chunk)
{
    chunk_circle_remove(heap, chunk);
    heap->chunk_count--;
    heap->mapped_pages -= chunk->mapped_pages;
    heap->dirty_pages -= chunk->dirty_pages;
    page_work_destroy(heap, chunk);
}

/* Empty chunks, the one that has been so for longest first, but so many chunks stay. */
static uint32_t remove_empty(struct page_heap *heap, uint32_t most, uint32_t stay)
{
    uint32_t pages = 0;

    /* Blocks of a load may be freed by others before their pages are populated. */
    if (atomic_load_explicit(&heap->populating, memory_order_acquire) != 0)
        return 0;
    while (heap->circle[CHUNKS_EMPTY] != NULL && heap->chunk_count > stay) {
        struct chunk *oldest = heap->circle[CHUNKS_EMPTY]->previous;

        if (oldest->dirty_pages > most - pages || oldest->worker != NULL)
            break;
        pages += oldest->dirty_pages;
        remove_chunk(heap, oldest);
    }
    return pages;
}

/* From its end: what came last is taken first. May choose more than most, see chunk_begin_purge. */
static uint32_t purge_circle(struct page_heap *heap, enum chunk_circle circle, uint32_t most)
{
    struct chunk *chunk = heap->circle[circle] != NULL ? heap->circle[circle]->previous : NULL;
    uint32_t purged = 0;

    for (uint32_t count = chunk_circle_count(chunk); count > 0 && purged < most; count--) {
        struct chunk *next = chunk->previous;

        if (chunk->dirty_pages > 0 && chunk->worker == NULL) {
            uint32_t chosen = chunk_begin_purge(chunk, most - purged);

            purged += chosen;
            heap->dirty_pages -= chosen;
            if (chosen > 0)
                page_work_add(heap, chunk);
            chunk_circle_update(heap, chunk);
        }
        chunk = next;
    }
    return purged;
}

static uint32_t purge(struct page_heap *heap, uint32_t most, uint32_t stay)
{
    static const enum chunk_circle order[] = {CHUNKS_EMPTY, CHUNKS_WITH_SLACK, CHUNKS_FULL};
    uint32_t purged = remove_empty(heap, most, stay);

    for (size_t i = 0; i < CHUNK_CIRCLES && purged < most; i++)
        purged += purge_circle(heap, order[i], most - purged);
    decay_gave_back(&heap->decay, purged);
    return purged;
}

uint32_t purge_all(struct page_heap *heap, bool last_too)
{
    page_work_take_in(heap);
    return purge(heap, UINT32_MAX, last_too ? 0 : 1);
}

void purge_due(struct page_heap *heap, uint64_t now, uint32_t most)
{
    page_work_take_in(heap);
    uint32_t due = decay_due(&heap->decay, now, heap->dirty_pages);

    /* None go: all is in work, or the program has locked its memory. Do not insist. */
    if (due > 0 && purge(heap, due < most ? due : most, 1) == 0)
        decay_postpone(&heap->decay);
}

void purge_some(struct page_heap *heap)
{
    heap->changed_at = decay_clock();
    purge_due(heap, heap->changed_at, PURGE_PAGES_AT_ONCE);
}

/* Keeps the dirty pages within bounds that hold at any time. Where the kernel refused to take them
   it is asked again when there are twice as many. */
static void keep_within_bounds(struct page_heap *heap)
{
    uint32_t bound = heap->used_pages / 8;

    if (bound < DIRTY_PAGES_LEAST)
        bound = DIRTY_PAGES_LEAST;
    if (bound < 2 * heap->refused_pages)
        bound = 2 * heap->refused_pages;
    if (heap->dirty_pages > bound)
        (void)purge(heap, PURGE_PAGES_AT_ONCE, 1);
}

void purge_after_return(struct page_heap *heap)
{
    if (decay_milliseconds() == DECAY_AT_ONCE)
        purge_due(heap, heap->changed_at, UINT32_MAX);
    else if (decay_milliseconds() != DECAY_NEVER)
        keep_within_bounds(heap);
}
