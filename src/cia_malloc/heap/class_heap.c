/*
 * SPDX-License-Identifier: MIT
 *
 * Span lists and the slow path of one class; see class_heap.h for the balance that they serve.
 */
#include "cia_malloc/heap/class_heap.h"

#include "cia_malloc/heap/cached_block.h"
#include "cia_malloc/heap/populate.h"

enum {
    /* Spans looked at, a type, before any free block will do. A span has a given slot free as often
       as blocks are free at all, and half of the slots are below on average: eight fail rarely. */
    PROBES = 8,
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
    heap->last_type = ((layout->first_slot >> layout->span_shift) - 1) & (heap->types - 1u);
    class_heap_set_target(heap, 1);
}

void class_heap_set_target(struct class_heap *heap, uint32_t target)
{
    uint32_t blocks = heap->block_mask + 1u;
    uint32_t cycle = class_heap_slots(heap);
    uint32_t rise = (target - 1) * cycle; /* live, when the target rose to this value */

    for (uint32_t type = 0; type < heap->types; type++) {
        const uint32_t *count = &heap->count[type * blocks];
        uint64_t below = 0;

        for (uint32_t bit = 0; bit < blocks; bit++)
            below |= (uint64_t)(count[bit] < target) << bit;
        heap->below[type] = below;
    }
    heap->target = target;
    heap->lower_at = rise > cycle / 2 ? rise - cycle / 2 : 0;
}

static void list_append(struct class_heap *heap, struct span *span)
{
    struct span **head = &heap->partial[span->type];

    if (*head == NULL) {
        span->next = span->previous = span;
        *head = span;
    } else {
        span->next = *head;
        span->previous = (*head)->previous;
        span->previous->next = span;
        (*head)->previous = span;
    }
    span->listed |= SPAN_LISTED;
}

static void list_remove(struct class_heap *heap, struct span *span)
{
    struct span **head = &heap->partial[span->type];

    if (span->next == span) {
        *head = NULL;
    } else {
        span->previous->next = span->next;
        span->next->previous = span->previous;
        if (*head == span)
            *head = span->next;
    }
    span->listed &= (uint8_t)~SPAN_LISTED;
}

void class_heap_remember(struct class_heap *heap, struct span *span)
{
    struct span **place = &heap->recent[heap->recent_end++ % RECENT_SPANS];
    struct span *oldest = *place;

    *place = span;
    span->listed |= SPAN_RECENT;
    if (oldest != NULL) {
        oldest->listed &= (uint8_t)~SPAN_RECENT;
        if (oldest->listed == 0 && oldest->free != 0)
            list_append(heap, oldest);
    }
}

void class_heap_retire_current(struct class_heap *heap)
{
    struct span *span = heap->current;

    heap->current = NULL;
    if (span == NULL)
        return;
    /* Only here, not in every malloc: nothing looks at the lists while there is a current span. */
    bool listed = (span->listed & SPAN_LISTED) != 0;
    if (span->free == 0 && listed)
        list_remove(heap, span);
    else if (span->free != 0 && !listed)
        list_append(heap, span);
}

static void make_current(struct class_heap *heap, struct span *span)
{
    heap->current = span;
    heap->last_type = span->type;
}

bool class_heap_find_recent(struct class_heap *heap)
{
    class_heap_retire_current(heap);
    for (;;) {
        struct span **place = &heap->recent[(heap->recent_end - 1u) % RECENT_SPANS];
        struct span *span = *place;

        if (span == NULL)
            return false;
        *place = NULL;
        heap->recent_end--;
        span->listed &= (uint8_t)~SPAN_RECENT;
        if ((span->free & heap->below[span->type]) != 0) {
            make_current(heap, span);
            return true;
        }
        if (span->listed == 0 && span->free != 0)
            list_append(heap, span);
    }
}

/* From the type behind the last one on: so never-used blocks come in the order of the cycle. */
static bool find_due(struct class_heap *heap)
{
    for (uint32_t i = 0; i < heap->types; i++) {
        uint32_t type = (heap->last_type + 1 + i) & (heap->types - 1u);
        uint64_t below = heap->below[type];
        struct span *span = heap->partial[type];

        for (uint32_t probe = 0; below != 0 && span != NULL && probe < PROBES; probe++) {
            struct span *next = span->next;

            if ((span->free & below) != 0) {
                /* The next search begins behind it, and behind those that had nothing due. */
                heap->partial[type] = next;
                make_current(heap, span);
                return true;
            }
            span = next;
            if (span == heap->partial[type])
                break;
        }
    }
    return false;
}

/*
 * No block of a colour that is due: frees have left them in spans that were not looked at, or one
 * type with fewer runs than another. The least filled slot that can be had is the next best, and
 * the target goes up to it. Unless that slot has twice its share already: then there is memory to
 * be carved first, if there is any.
 */
static bool find_least_filled(struct class_heap *heap, bool at_any_price)
{
    struct span *best = NULL;
    uint32_t least = UINT32_MAX;

    for (uint32_t type = 0; type < heap->types; type++) {
        struct span *span = heap->partial[type];

        for (uint32_t probe = 0; span != NULL && probe < PROBES; probe++) {
            for (uint64_t left = span->free; left != 0; left &= left - 1) {
                uint32_t bit = (uint32_t)__builtin_ctzll(left);
                uint32_t count = heap->count[type << heap->span_shift | bit];

                if (count < least) {
                    least = count;
                    best = span;
                }
            }
            span = span->next;
            if (span == heap->partial[type])
                break;
        }
    }
    if (best == NULL || (!at_any_price && least >= 2 * (heap->live / class_heap_slots(heap) + 1)))
        return false;
    class_heap_set_target(heap, least + 1);
    make_current(heap, best);
    return true;
}

static bool some_slot_is_below(const struct class_heap *heap)
{
    for (uint32_t type = 0; type < heap->types; type++) {
        if (heap->below[type] != 0)
            return true;
    }
    return false;
}

bool class_heap_find(struct class_heap *heap, bool at_any_price)
{
    const struct span *current = heap->current;

    if (!some_slot_is_below(heap))
        class_heap_set_target(heap, heap->target + 1);
    if (current != NULL && (current->free & heap->below[current->type]) != 0)
        return true;
    return class_heap_find_recent(heap) || find_due(heap) || find_least_filled(heap, at_any_price);
}

uint32_t class_heap_take_many(struct class_heap *heap, char **blocks, uint32_t most,
                              uint64_t *colours_taken)
{
    struct span *span = heap->current;
    uint64_t wanted = span->free & heap->below[span->type];
    uint64_t ahead = wanted & (~(uint64_t)0 << heap->first_bit);
    uint64_t left = ahead != 0 ? ahead : wanted;
    uint64_t taken = 0, reached = 0;
    bool compact = size_class_is_compact(heap->size_class);
    uint32_t *counts = &heap->count[(uint32_t)span->type << heap->span_shift];
    uint32_t count = 0;

    while (left != 0 && count < most) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left);
        uint64_t mask = left & -left;
        char *block =
            span->base + (size_t)((bit - span->phase) & heap->block_mask) * heap->block_bytes;
        uint64_t colour = (uint64_t)1 << magazine_colour(block);
        /* Packed ones in a row have few of a colour as they are. */
        bool repeats = (*colours_taken & colour) != 0 && !compact;

        /* Past a colour that was taken already, but not where two colours share a bit: there the
           blocks would come out of order. */
        if (repeats && colours > MAGAZINE_COLOURS)
            break;
        left ^= mask;
        if (left == 0 && ahead != 0) {
            left = wanted & ~ahead;
            ahead = 0;
        }
        if (repeats)
            continue;
        *colours_taken |= colour;
        taken |= mask;
        reached |= (uint64_t)(++counts[bit] >= heap->target) << bit;
        blocks[count++] = block + (span->untouched >> bit & 1) * MAGAZINE_UNTOUCHED;
    }
    heap->below[span->type] &= ~reached;
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
    if (class_layout_is_whole(&class_layouts[heap->size_class]))
        return 0;
    /* Behind the type that was last carved or used, so that no type gets ahead of the others. */
    uint32_t wanted = (heap->last_type + 1u) & (heap->types - 1u);

    for (uint32_t i = 0; i < heap->types && heap->below[wanted] == 0; i++)
        wanted = (wanted + 1) & (heap->types - 1u);
    return wanted;
}

/* Sets the bits of the lines where the run's blocks begin. */
static void mark_starts(struct page_info *pages, const struct class_layout *layout,
                        uint32_t first_line)
{
    for (uint32_t span = 0; span < layout->run_spans; span++) {
        uint32_t line = first_line + span * layout->span_units;

        for (uint32_t block = 0; block < layout->span_blocks; block++, line += layout->units)
            pages[line / LINES_PER_PAGE].starts |= (uint64_t)1 << line % LINES_PER_PAGE;
    }
}

/* Says whether free() takes the line for the beginning of a block. Relaxed: it reads other bits. */
static void mark_start(struct chunk *chunk, const char *start, bool begins)
{
    uint64_t *starts = &chunk->pages[(size_t)(start - chunk->base) >> PAGE_SHIFT].starts;
    uint64_t bit = (uint64_t)1 << ((uintptr_t)start >> LINE_SHIFT) % LINES_PER_PAGE;

    __atomic_store_n(starts, begins ? *starts | bit : *starts & ~bit, __ATOMIC_RELAXED);
}

void class_heap_hand_out_inside(struct span *span, uint32_t bit, char *start, size_t alignment)
{
    struct chunk *chunk = span->chunk;
    uint64_t mask = (uint64_t)1 << bit;
    uint64_t *words = chunk->remotes[span - chunk->spans].alignment;

    for (uint32_t i = 0; i < 2; i++) {
        bool set = ((uint32_t)__builtin_ctzll(alignment / 128) >> i & 1) != 0;

        __atomic_store_n(&words[i], set ? words[i] | mask : words[i] & ~mask, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&span->interior, span->interior | mask, __ATOMIC_RELAXED);
    if (class_is_cached(span->size_class))
        mark_start(chunk, start, false);
}

void class_heap_put_inside(struct class_heap *heap, struct span *span, uint64_t bit)
{
    uint32_t number = (uint32_t)__builtin_ctzll(bit);

    /* Relaxed, not plain: free() reads other bits of the word without the lock. */
    __atomic_store_n(&span->interior, span->interior & ~bit, __ATOMIC_RELAXED);
    if (class_is_cached(span->size_class))
        mark_start(span->chunk,
                   span->base +
                       (size_t)((number - span->phase) & heap->block_mask) * heap->block_bytes,
                   true);
}

void class_heap_add_run(struct class_heap *heap, struct chunk *chunk, uint32_t page,
                        uint32_t run_type, bool clean)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];
    uint32_t offset =
        class_layout_run_offset(layout, run_type) & (class_layout_page_units(layout) - 1);
    uint32_t pages = class_layout_run_pages(layout, run_type);
    uint64_t all = class_layout_all_bits(layout);
    struct page_info info = {
        .magazine = (uint16_t)(class_is_cached(heap->size_class)
                                   ? magazine_offset(heap->size_class, chunk->node)
                                   : 0),
        .size_class = heap->size_class,
        .run_page = (uint16_t)page,
        .first_unit = (uint8_t)offset,
        .run_type = (uint8_t)run_type,
    };

    for (uint32_t i = 0; i < pages; i++)
        chunk->pages[page + i] = info;
    if (info.magazine != 0 && !size_class_is_compact(heap->size_class))
        mark_starts(&chunk->pages[page], layout, offset);
    for (uint32_t i = 0; i < layout->run_spans; i++) {
        uint32_t number = class_layout_span(layout, page, i);
        struct span *span = &chunk->spans[number];
        uint32_t unit = offset + i * layout->span_units;

        *span = (struct span){
            .free = all,
            .untouched = clean ? all : 0, /* if not, see below */
            .base = chunk->base + (size_t)page * PAGE_BYTES + ((size_t)unit << layout->unit_shift),
            .chunk = chunk,
            .size_class = heap->size_class,
            .type = (uint8_t)((run_type + i) & (layout->types - 1u)),
            .phase = (uint8_t)span_phase(layout, run_type, i),
            .run_page = (uint16_t)page,
            .run_pages = (uint16_t)pages,
        };
        chunk->remotes[number].chunk = chunk;
        list_append(heap, span);
    }
    if (!clean)
        populate_rest(chunk, page, pages);
    for (uint32_t i = 0; i < layout->run_spans; i++)
        heap->untouched += (uint32_t)__builtin_popcountll(
            chunk->spans[class_layout_span(layout, page, i)].untouched);
    heap->capacity += (uint32_t)layout->run_spans * layout->span_blocks;
    if (!heap->has_runs) {
        /* The first run is where it is; the cycle is laid out from there. */
        uint32_t number = (uint32_t)((uintptr_t)chunk->base >> PAGE_SHIFT) + page;
        uint32_t here = class_layout_page_in_cycle(layout, run_type);

        for (uint32_t type = 0; type < layout->types; type++)
            heap->next_page[type] = (uint8_t)(number + class_layout_page_in_cycle(layout, type) -
                                              here + (type <= run_type ? layout->cycle_pages : 0u));
        heap->has_runs = true;
    }
}

uint32_t class_heap_wanted_page(struct class_heap *heap, uint32_t type)
{
    uint32_t page = heap->next_page[type];

    heap->next_page[type] = (uint8_t)(page + class_layouts[heap->size_class].cycle_pages);
    return page;
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

/* The newest takes its place: no gap may stand between the newest and the oldest. */
static void forget_recent(struct class_heap *heap, struct span *span)
{
    struct span **newest = &heap->recent[--heap->recent_end % RECENT_SPANS];
    uint32_t i = 0;

    while (heap->recent[i] != span)
        i++;
    heap->recent[i] = *newest;
    *newest = NULL;
    span->listed &= (uint8_t)~SPAN_RECENT;
}

void class_heap_remove_run(struct class_heap *heap, struct chunk *chunk, uint32_t page)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];

    for (uint32_t i = 0; i < layout->run_spans; i++) {
        struct span *span = &chunk->spans[class_layout_span(layout, page, i)];

        if ((span->listed & SPAN_RECENT) != 0)
            forget_recent(heap, span);
        list_remove(heap, span);
        heap->untouched -= (uint32_t)__builtin_popcountll(span->untouched);
    }
    heap->capacity -= (uint32_t)layout->run_spans * layout->span_blocks;
}

bool class_heap_reconcile(struct class_heap *heap, struct span *span)
{
    const struct class_layout *layout = &class_layouts[heap->size_class];
    uint32_t run_blocks = (uint32_t)layout->run_spans * layout->span_blocks;

    if ((span->listed & SPAN_LISTED) == 0)
        list_append(heap, span);
    /* One idle run stays, so that a program at the edge does not carve and release in turn; but not
       a long one: all classes together would keep 14 MiB. */
    return span->free == class_layout_all_bits(layout) &&
           (heap->capacity - heap->live >= 2 * run_blocks || span->run_pages > IDLE_RUN_PAGES) &&
           class_heap_run_is_idle(heap, span->chunk, span->run_page);
}
