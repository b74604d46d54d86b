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

uint32_t chunk_circle_count(const struct circle_link *head)
{
    uint32_t count = 0;

    for (const struct circle_link *link = head; link != NULL; link = circle_next(head, link))
        count++;
    return count;
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

    if (circle == chunk->circle)
        return;
    circle_remove(&heap->circle[chunk->circle], &chunk->link);
    chunk_circle_insert(heap, chunk, circle);
}

void page_heap_visit(struct page_heap *heap,
                     void (*visit)(struct page_heap *heap, struct chunk *chunk))
{
    for (enum chunk_circle circle = 0; circle < CHUNKS_EMPTY; circle++) {
        struct circle_link *link = heap->circle[circle];

        /* The visited chunk may leave the circle: count them first, and read each one's next
           before. */
        for (uint32_t count = chunk_circle_count(link); count > 0; count--) {
            struct chunk *chunk = (struct chunk *)link;

            link = link->next;
            visit(heap, chunk);
        }
    }
}
