/*
 * SPDX-License-Identifier: MIT
 *
 * See page_heap_state.h.
 */
#include "cia_malloc/pages/page_heap_state.h"

enum {
    /* A chunk with fewer free pages than this is not looked at until it has four times as many. */
    ROOM_PAGES = 16,
};

void chunk_circle_insert(struct page_heap *heap, struct chunk *chunk, enum chunk_circle circle)
{
    chunk->circle = (uint8_t)circle;
    circle_append(&heap->circle[circle], &chunk->link);
    heap->circle[circle] = &chunk->link;
}

/* The circle that a chunk should be in, which is where it is while it is between two of them. */
static enum chunk_circle circle_for(const struct chunk *chunk)
{
    uint32_t room = chunk->mapped_pages - chunk->used_pages;

    if (chunk->used_pages == 0)
        return CHUNKS_EMPTY;
    if (room < ROOM_PAGES)
        return CHUNKS_FULL;
    return chunk->circle == CHUNKS_FULL && room < 4 * ROOM_PAGES ? CHUNKS_FULL : CHUNKS_WITH_SLACK;
}

void chunk_circle_update(struct page_heap *heap, struct chunk *chunk)
{
    enum chunk_circle circle = circle_for(chunk);

    circle_forget(&heap->dirty[chunk->circle], &chunk->dirty_link);
    if (circle != chunk->circle) {
        circle_remove(&heap->circle[chunk->circle], &chunk->link);
        chunk_circle_insert(heap, chunk, circle);
    }
    if (chunk->dirty_pages > 0 && chunk->worker == NULL)
        circle_append(&heap->dirty[circle], &chunk->dirty_link);
}
