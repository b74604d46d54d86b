/*
 * SPDX-License-Identifier: MIT
 *
 * The circles of a page heap's chunks: by how much room a chunk has, see enum chunk_circle.
 */
#ifndef MPLACE_CIA_CHUNK_CIRCLE_H
#define MPLACE_CIA_CHUNK_CIRCLE_H

#include "cia_malloc/pages/page_heap_state.h"

/* At the beginning of a circle; the chunk is in none. */
void chunk_circle_insert(struct page_heap *heap, struct chunk *chunk, enum chunk_circle circle);

void chunk_circle_remove(struct page_heap *heap, struct chunk *chunk);

/* Moves a chunk whose room has changed to the circle where it belongs. */
void chunk_circle_update(struct page_heap *heap, struct chunk *chunk);

/* Chunks in the circle of this one; 0 for NULL. */
uint32_t chunk_circle_count(const struct chunk *first);

#endif
