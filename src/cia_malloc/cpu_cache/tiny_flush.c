/*
 * SPDX-License-Identifier: MIT
 *
 * See tiny_flush.h.
 */
#include "cia_malloc/cpu_cache/tiny_flush.h"

#include "base/current_cpu.h"

void tiny_flush_place(struct subheap *locked, const struct tiny_place *blocks, size_t bytes)
{
    struct subheap *owner = blocks->chunk->owner;

    if (owner == locked) {
        tiny_heap_put(&owner->tiny, blocks);
    } else if (locked == NULL && owner->number == current_cpu() && subheap_try_lock(owner)) {
        tiny_heap_put(&owner->tiny, blocks);
        subheap_unlock(owner);
    } else {
        tiny_heap_free_remote(&owner->tiny, blocks);
        subheap_freed_remotely(owner, bytes, locked);
    }
}

void tiny_flush_blocks(struct subheap *locked, unsigned tiny, char *const *blocks, uint32_t count)
{
    struct tiny_place batch = {.bit = 0};
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct tiny_place next = tiny_place_of(page_source_owner(blocks[i]), tiny, blocks[i]);

        if (batch.bit != 0 && next.chunk == batch.chunk && next.page == batch.page &&
            next.word == batch.word) {
            if (__builtin_expect((batch.bit & next.bit) != 0, 0))
                tiny_double_free(blocks[i]);
            batch.bit |= next.bit;
        } else {
            if (batch.bit != 0)
                tiny_flush_place(locked, &batch, bytes);
            batch = next;
            bytes = 0;
        }
        bytes += tiny_bytes(tiny);
    }
    if (batch.bit != 0)
        tiny_flush_place(locked, &batch, bytes);
}

void tiny_flush_magazine(const struct magazine_access *access, unsigned tiny,
                         struct subheap *locked)
{
    char *blocks[MAGAZINE_LEVEL_MOST];

    do
        tiny_flush_blocks(locked, tiny, blocks, access_unload(access, blocks));
    while (access_open_box(access));
}
