/*
 * SPDX-License-Identifier: MIT
 *
 * See quarantine.h.
 */
#include "cia_malloc/hardened/quarantine.h"

/* Counts a block that comes in, or goes out. */
static void note(struct quarantine *quarantine, const struct block *block, bool in)
{
    /* With what its colour left of the first page. */
    size_t bytes = block->size_class == CLASS_LARGE ? round_up_to_pages(block->bytes) : 0;

    quarantine->waiting[block->size_class] += in ? 1u : -1u;
    quarantine->large_bytes += in ? bytes : -bytes;
}

static struct block dequeue(struct quarantine *quarantine)
{
    char *start = quarantine->queue[quarantine->first];
    struct block block = block_at(page_map_chunk(start), start);

    quarantine->first = (quarantine->first + 1) % QUARANTINE_PLACES;
    quarantine->count--;
    quarantine->bytes -= block.bytes;
    note(quarantine, &block, false);
    return block;
}

uint32_t quarantine_put(struct subheap *heap, const struct block *block, uint32_t drawn,
                        struct block leaving[QUARANTINE_LEAVING])
{
    uint32_t leave = 0;

    if (__builtin_expect(heap->quarantine == NULL, 0))
        heap->quarantine = page_source_map_metadata(sizeof *heap->quarantine);
    struct quarantine *quarantine = heap->quarantine;
    if (__builtin_expect(quarantine == NULL, 0)) {
        leaving[0] = *block;
        return 1;
    }
    struct block *place = &quarantine->drawn[drawn];
    struct block displaced = *place;

    *place = *block;
    note(quarantine, block, true);
    if (displaced.start == NULL)
        return 0;
    if (quarantine->count == QUARANTINE_PLACES)
        leaving[leave++] = dequeue(quarantine);
    uint32_t end = (quarantine->first + quarantine->count++) % QUARANTINE_PLACES;
    quarantine->queue[end] = displaced.start;
    quarantine->bytes += displaced.bytes;
    while (quarantine->bytes > QUARANTINE_BYTES && leave < QUARANTINE_LEAVING)
        leaving[leave++] = dequeue(quarantine);
    return leave;
}

uint32_t quarantine_take(struct subheap *heap, struct block leaving[QUARANTINE_LEAVING])
{
    struct quarantine *quarantine = heap->quarantine;
    uint32_t leave = 0;

    if (quarantine == NULL)
        return 0;
    while (quarantine->count > 0 && leave < QUARANTINE_LEAVING)
        leaving[leave++] = dequeue(quarantine);
    for (uint32_t i = 0; i < QUARANTINE_DRAWN && leave < QUARANTINE_LEAVING; i++) {
        struct block *drawn = &quarantine->drawn[i];

        if (drawn->start == NULL)
            continue;
        note(quarantine, drawn, false);
        leaving[leave++] = *drawn;
        drawn->start = NULL;
    }
    return leave;
}
