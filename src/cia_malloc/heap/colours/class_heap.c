/*
 * SPDX-License-Identifier: MIT
 *
 * The runs of one class; see class_heap.h.
 */
#include "cia_malloc/heap/colours/class_heap.h"

#include "cia_malloc/heap/size_classes/cached_block.h"

enum {
    IDLE_RUN_PAGES = 64, /* a run longer than this does not stay when it is idle */
};

void class_heap_initialise(struct class_heap *heap, unsigned size_class)
{
    const struct class_layout *layout = &class_layouts[size_class];

    heap->size_class = (uint8_t)size_class;
    heap->block_bytes = (uint32_t)size_class_bytes(size_class);
    heap->block_mask = (uint8_t)(layout->span_blocks - 1);
    heap->span_shift = layout->span_shift;
    heap->types = layout->types;
    heap->first_bit = layout->first_slot & heap->block_mask;
    heap->next_type = layout->first_slot >> layout->span_shift;
    class_heap_set_quota(heap, 1);
}

/* Sets the bits of the lines in which the run's blocks begin. */
static void mark_starts(struct page_info *pages, const struct class_layout *layout,
                        uint32_t first_unit)
{
    for (uint32_t span = 0; span < layout->run_spans; span++) {
        uint32_t unit = first_unit + span * layout->span_units;

        for (uint32_t block = 0; block < layout->span_blocks; block++, unit += layout->units) {
            uint32_t line = unit >> (LINE_SHIFT - layout->unit_shift);

            pages[line / LINES_PER_PAGE].starts |= (uint64_t)1 << line % LINES_PER_PAGE;
        }
    }
}

void class_heap_hand_out_inside(struct span *span, uint64_t bit, char *start, size_t alignment)
{
    uint64_t *words = span->chunk->remotes[span - span->chunk->spans].alignment;

    for (uint32_t i = 0; i < 2; i++) {
        bool set = ((uint32_t)__builtin_ctzll(alignment / 128) >> i & 1) != 0;

        __atomic_store_n(&words[i], set ? words[i] | bit : words[i] & ~bit, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&span->interior, span->interior | bit, __ATOMIC_RELAXED);
    if (class_is_cached(span->size_class))
        page_info_mark_start(page_map_find(start), start, false);
}

void class_heap_put_inside(struct class_heap *heap, struct span *span, uint64_t bit)
{
    uint32_t number = ((uint32_t)__builtin_ctzll(bit) - span->phase) & heap->block_mask;
    const char *start = span->base + (size_t)number * heap->block_bytes;

    /* Relaxed, not plain: free() reads other bits of the word without the lock. */
    __atomic_store_n(&span->interior, span->interior & ~bit, __ATOMIC_RELAXED);
    if (class_is_cached(span->size_class))
        page_info_mark_start(page_map_find(start), start, true);
}

void class_heap_add_run(struct class_heap *heap, struct chunk *chunk, uint32_t page,
                        uint32_t run_type, bool clean)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];
    uint32_t offset =
        class_layout_run_offset(layout, run_type) & (class_layout_page_units(layout) - 1);
    uint32_t pages = class_layout_run_pages(layout, run_type);
    uint64_t all = class_layout_all_bits(layout);
    char *first = chunk->base + (size_t)page * PAGE_BYTES + ((size_t)offset << layout->unit_shift);
    struct page_info info = {
        .magazine = (uint16_t)(class_is_cached(heap->size_class)
                                   ? magazine_offset(heap->size_class, chunk->node)
                                   : 0),
        .size_class = heap->size_class,
        .run_type = (uint8_t)run_type,
        .start = magazine_low_address(first),
    };

    for (uint32_t i = 0; i < pages; i++)
        chunk->pages[page + i] = info;
    if (info.magazine != 0)
        mark_starts(&chunk->pages[page], layout, offset);
    /* From the last one on, so that the first one is found first. */
    for (uint32_t i = layout->run_spans; i-- > 0;) {
        uint32_t number = class_layout_span(layout, page, i);
        struct span *span = &chunk->spans[number];

        *span = (struct span){
            .free = all,
            .untouched = clean ? all : 0, /* if not, see below */
            .base = first + ((size_t)i * layout->span_units << layout->unit_shift),
            .chunk = chunk,
            .size_class = heap->size_class,
            .type = (uint8_t)((run_type + i) & (layout->types - 1u)),
            .phase = (uint8_t)span_phase(layout, run_type, i),
            .run_page = (uint16_t)page,
            .run_pages = (uint16_t)pages,
        };
        class_heap_list(heap, span);
    }
    chunk_note_idle_run(chunk);
    if (!clean)
        populate_rest(chunk, page, pages);
    for (uint32_t i = 0; i < layout->run_spans; i++)
        heap->untouched += (uint32_t)__builtin_popcountll(
            chunk->spans[class_layout_span(layout, page, i)].untouched);
    heap->capacity += (uint32_t)layout->run_spans * layout->span_blocks;
}

bool class_heap_run_is_idle(const struct class_heap *heap, const struct chunk *chunk, uint32_t page)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];

    for (uint32_t i = 0; i < layout->run_spans; i++) {
        const struct span *span = &chunk->spans[class_layout_span(layout, page, i)];

        if (span->free != class_layout_all_bits(layout) || span == heap->current)
            return false;
    }
    return true;
}

void class_heap_remove_run(struct class_heap *heap, struct chunk *chunk, uint32_t page)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];

    for (uint32_t i = 0; i < layout->run_spans; i++) {
        struct span *span = &chunk->spans[class_layout_span(layout, page, i)];

        class_heap_unlist(heap, span);
        heap->untouched -= (uint32_t)__builtin_popcountll(span->untouched);
    }
    heap->capacity -= (uint32_t)layout->run_spans * layout->span_blocks;
}

bool class_heap_reconcile(struct class_heap *heap, struct span *span)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];
    uint32_t run_blocks = (uint32_t)layout->run_spans * layout->span_blocks;

    chunk_note_idle_run(span->chunk);
    /* One idle run stays, so that a program at the edge does not carve and release in turn; but not
       a long one: all classes together would keep 14 MiB. */
    return (heap->capacity - heap->live >= 2 * run_blocks || span->run_pages > IDLE_RUN_PAGES) &&
           class_heap_run_is_idle(heap, span->chunk, span->run_page);
}
