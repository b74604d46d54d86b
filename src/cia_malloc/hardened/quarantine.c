/*
 * SPDX-License-Identifier: MIT
 *
 * See quarantine.h.
 */
#include "cia_malloc/hardened/quarantine.h"

#include "cia_malloc/hardened/canary.h"

/* A waiting block: its address, and in the low bits, which are 0 in every one, its class, or
   QUARANTINE_LARGE. With CIA_HARDEN=1 no class is compact. */
static_assert((int)QUARANTINE_KINDS <= (int)LINE_BYTES, "it fits where an address has nothing");

static uintptr_t waiting_of(const struct block *block)
{
    return (uintptr_t)block->start |
           (block->size_class == CLASS_LARGE ? (unsigned)QUARANTINE_LARGE : block->size_class);
}

static char *address_of(uintptr_t waiting)
{
    return (char *)(waiting & ~(uintptr_t)(LINE_BYTES - 1));
}

static unsigned class_of(uintptr_t waiting)
{
    return (unsigned)(waiting % LINE_BYTES);
}

static size_t bytes_of(uintptr_t waiting)
{
    const char *address = address_of(waiting);

    if (class_of(waiting) < QUARANTINE_LARGE)
        return size_class_bytes(class_of(waiting));
    /* With what its colour left of the first page. */
    return (block_at(page_source_owner(address), address).bytes + PAGE_BYTES - 1) &
           ~(size_t)(PAGE_BYTES - 1);
}

/* Counts a block that comes in, or goes out. */
static void note(struct quarantine *quarantine, uintptr_t waiting, bool in)
{
    unsigned size_class = class_of(waiting);
    size_t bytes = size_class == QUARANTINE_LARGE ? bytes_of(waiting) : 0;

    quarantine->waiting[size_class] += in ? 1u : -1u;
    quarantine->large_bytes += in ? bytes : -bytes;
}

static void enqueue(struct quarantine *quarantine, uintptr_t waiting)
{
    uint32_t end = (quarantine->first + quarantine->count++) % QUARANTINE_PLACES;

    quarantine->queue[end] = waiting;
    quarantine->bytes += bytes_of(waiting);
}

static char *dequeue(struct quarantine *quarantine)
{
    uintptr_t waiting = quarantine->queue[quarantine->first];

    quarantine->first = (quarantine->first + 1) % QUARANTINE_PLACES;
    quarantine->count--;
    quarantine->bytes -= bytes_of(waiting);
    note(quarantine, waiting, false);
    return address_of(waiting);
}

uint32_t quarantine_put(struct subheap *heap, const struct block *block,
                        char *leaving[QUARANTINE_LEAVING])
{
    uint32_t leave = 0;

    if (__builtin_expect(heap->quarantine == NULL, 0))
        heap->quarantine = page_source_map_metadata(sizeof *heap->quarantine);
    struct quarantine *quarantine = heap->quarantine;
    if (__builtin_expect(quarantine == NULL, 0)) {
        leaving[0] = block->start;
        return 1;
    }
    uintptr_t *place = &quarantine->drawn[harden_random_below(heap, QUARANTINE_DRAWN)];
    uintptr_t displaced = *place;

    *place = waiting_of(block);
    note(quarantine, *place, true);
    if (displaced == 0)
        return 0;
    if (quarantine->count == QUARANTINE_PLACES)
        leaving[leave++] = dequeue(quarantine);
    enqueue(quarantine, displaced);
    while (quarantine->bytes > QUARANTINE_BYTES && leave < QUARANTINE_LEAVING)
        leaving[leave++] = dequeue(quarantine);
    return leave;
}

uint32_t quarantine_take(struct subheap *heap, char *leaving[QUARANTINE_LEAVING])
{
    struct quarantine *quarantine = heap->quarantine;
    uint32_t leave = 0;

    if (quarantine == NULL)
        return 0;
    while (quarantine->count > 0 && leave < QUARANTINE_LEAVING)
        leaving[leave++] = dequeue(quarantine);
    for (uint32_t i = 0; i < QUARANTINE_DRAWN && leave < QUARANTINE_LEAVING; i++) {
        uintptr_t waiting = quarantine->drawn[i];

        if (waiting == 0)
            continue;
        note(quarantine, waiting, false);
        leaving[leave++] = address_of(waiting);
        quarantine->drawn[i] = 0;
    }
    return leave;
}
