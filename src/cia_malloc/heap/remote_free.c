/*
 * SPDX-License-Identifier: MIT
 *
 * See remote_free.h.
 */
#include "cia_malloc/heap/remote_free.h"

void remote_free_blocks(struct chunk *chunk, uint32_t span_index, uint64_t bits)
{
    uint64_t twice = inbox_push(&chunk->owner->inbox, chunk, span_index, bits);

    if (__builtin_expect(twice != 0, 0))
        subheap_double_free(&chunk->spans[span_index], twice);
}

void remote_free_count(struct subheap *heap, size_t bytes, struct subheap *locked)
{
    if (!inbox_fills(&heap->inbox, bytes))
        return;
    if (locked != NULL)
        locked->full_inbox = heap;
    else
        subheap_drain_soon(heap);
}
