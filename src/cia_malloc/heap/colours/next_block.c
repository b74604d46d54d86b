/*
 * SPDX-License-Identifier: MIT
 *
 * Which block of a class comes next, and with it which L1 colour: the first free block of the
 * span in turn, from first_bit on, whose slot has fewer live blocks than the quota; class_heap.h
 * has the balance that this keeps. Malloc takes what waits in a magazine first, the newest block,
 * whatever its colour: cpu_cache/magazine.h says which colours those blocks have.
 */
#include "cia_malloc/heap/size_classes/cached_block.h"
#include "cia_malloc/heap/colours/class_heap.h"

#include <emmintrin.h>

enum {
    /* Spans looked at, a type, before any free block will do. A span has a given slot free as often
       as blocks are free at all, and half of the slots are under quota on average: eight fail
       rarely. */
    PROBES = 8,
};

/* Bit i says count[i] < quota. Of a multiple of four counts; all are below 2^31, for the comparison
   has signs. */
static uint64_t slots_below(const uint32_t *count, uint32_t blocks, uint32_t quota)
{
    __m128i limit = _mm_set1_epi32((int)quota);
    uint64_t below = 0;

    for (uint32_t bit = 0; bit < blocks; bit += 4) {
        __m128i four = _mm_load_si128((const __m128i *)(const void *)&count[bit]);

        below |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmplt_epi32(four, limit))) << bit;
    }
    return below;
}

static_assert(offsetof(struct class_heap, count) % 16 == 0 && SPAN_BLOCKS_LEAST % 4 == 0,
              "counts are loaded four at a time");

void class_heap_set_quota(struct class_heap *heap, uint32_t quota)
{
    uint32_t blocks = heap->block_mask + 1u;
    uint32_t cycle = class_heap_slots(heap);
    uint64_t rise = (uint64_t)(quota - 1) * cycle; /* live, when the quota rose to this value */

    for (uint32_t type = 0; type < heap->types; type++) {
        heap->under_quota[type] = slots_below(&heap->count[type * blocks], blocks, quota);
    }
    heap->quota = quota;
    heap->lower_at = rise > cycle / 2 ? rise - cycle / 2 : 0;
}

void class_heap_list(struct class_heap *heap, struct span *span)
{
    circle_append(&heap->partial[span->type], &span->link);
    heap->partial[span->type] = &span->link;
    span->listed = true;
}

void class_heap_unlist(struct class_heap *heap, struct span *span)
{
    circle_remove(&heap->partial[span->type], &span->link);
    span->listed = false;
}

void class_heap_retire_current(struct class_heap *heap)
{
    struct span *span = heap->current;

    heap->current = NULL;
    if (span == NULL)
        return;
    if (span->free == class_layout_all_bits(&class_layouts[heap->size_class]))
        chunk_note_idle_run(span->chunk);
    /* Only here, not in every malloc: nothing looks at the lists while there is a current span. */
    if (span->free == 0)
        class_heap_unlist(heap, span);
}

static void make_current(struct class_heap *heap, struct span *span)
{
    heap->current = span;
    heap->next_type = (span->type + 1) & (heap->types - 1u);
}

/* From the type where a block came back since the last time, else from the one behind the last one
   on: so never-used blocks come in the order of the cycle. The next search begins behind the spans
   that this one looked at, found or not: else a few in front without an eligible block would hide
   all others, for ever. */
static bool find_eligible(struct class_heap *heap)
{
    for (uint32_t i = 0; i < heap->types; i++) {
        uint32_t type = (heap->next_type + i) & (heap->types - 1u);
        uint64_t under_quota = heap->under_quota[type];
        struct circle_link *link = heap->partial[type];

        for (uint32_t probe = 0; under_quota != 0 && link != NULL && probe < PROBES; probe++) {
            struct span *span = (struct span *)link;

            if ((span->free & under_quota) != 0) {
                heap->partial[type] = link->next;
                make_current(heap, span);
                return true;
            }
            link = circle_next(heap->partial[type], link);
        }
        if (link != NULL)
            heap->partial[type] = link;
    }
    return false;
}

/*
 * No eligible block: frees have left them in spans that were not looked at, or one
 * type with fewer runs than another. The least filled slot that can be had is the next best, and
 * the quota goes up to it. Unless that slot has twice its share already: then there is memory to
 * be carved first, if there is any.
 */
static bool find_least_filled(struct class_heap *heap, bool at_any_price)
{
    struct span *best = NULL;
    uint32_t least = UINT32_MAX;

    for (uint32_t type = 0; type < heap->types; type++) {
        struct circle_link *link = heap->partial[type];

        for (uint32_t probe = 0; link != NULL && probe < PROBES; probe++) {
            struct span *span = (struct span *)link;

            for (uint64_t left = span->free; left != 0; left &= left - 1) {
                uint32_t bit = (uint32_t)__builtin_ctzll(left);
                uint32_t count = heap->count[type << heap->span_shift | bit];

                if (count < least) {
                    least = count;
                    best = span;
                }
            }
            link = circle_next(heap->partial[type], link);
        }
    }
    if (best == NULL || (!at_any_price && least >= 2 * (heap->live / class_heap_slots(heap) + 1)))
        return false;
    class_heap_set_quota(heap, least + 1);
    make_current(heap, best);
    return true;
}

bool class_heap_find(struct class_heap *heap, bool at_any_price)
{
    uint64_t under_quota = 0;

    for (uint32_t type = 0; type < heap->types; type++)
        under_quota |= heap->under_quota[type];
    if (under_quota == 0)
        class_heap_set_quota(heap, heap->quota + 1);
    if (class_heap_eligible(heap) != 0)
        return true;
    class_heap_retire_current(heap);
    return find_eligible(heap) || find_least_filled(heap, at_any_price);
}

uint32_t class_heap_take_many(struct class_heap *heap, char **end, uint32_t most,
                              uint8_t *of_colour)
{
    struct span *span = heap->current;
    uint64_t wanted = class_heap_eligible(heap);
    uint64_t ahead = wanted & (~(uint64_t)0 << heap->first_bit);
    uint64_t taken = 0, reached = 0;
    uint32_t limit = size_class_is_compact(heap->size_class) ? MAGAZINE_OF_A_COLOUR_MOST : 1;
    uint32_t *counts = &heap->count[(uint32_t)span->type << heap->span_shift];
    uint32_t count = 0;

    for (uint32_t turn = 0; turn < 2; turn++) {
        uint64_t left = turn == 0 ? ahead : wanted & ~ahead;

        for (; left != 0 && count < most; left &= left - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            char *block =
                span->base + (size_t)((bit - span->phase) & heap->block_mask) * heap->block_bytes;
            uint8_t *same = &of_colour[magazine_colour(block)];

            if (*same == limit) {
                /* Past a colour that the load has enough of, but not where two colours count as
                   one: there the blocks would come out of order. */
                if (colours > MAGAZINE_COLOURS)
                    most = count;
                continue;
            }
            ++*same;
            taken |= left & -left;
            *(end - ++count) = block + (span->untouched >> bit & 1) * MAGAZINE_UNTOUCHED;
        }
    }
    for (uint64_t left = taken; left != 0; left &= left - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left);

        reached |= (uint64_t)(++counts[bit] >= heap->quota) << bit;
    }
    heap->under_quota[span->type] &= ~reached;
    heap->live += count;
    heap->allocations += count;
    if ((span->untouched & taken) != 0) {
        populate_blocks(span, span->untouched & taken, class_heap_live_bytes(heap));
        heap->untouched -= (uint32_t)__builtin_popcountll(span->untouched & taken);
    }
    span->free &= ~taken;
    span->untouched &= ~taken;
    return count;
}

uint32_t class_heap_wanted_type(struct class_heap *heap)
{
    if ((class_layouts[heap->size_class].run_spans & (heap->types - 1u)) == 0)
        return 0; /* whole cycles: each begins with type 0 */
    /* From the type that comes next on, so that no type gets ahead of the others. */
    uint32_t wanted = heap->next_type;

    for (uint32_t i = 0; i < heap->types && heap->under_quota[wanted] == 0; i++)
        wanted = (wanted + 1) & (heap->types - 1u);
    return wanted;
}
