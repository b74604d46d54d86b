/*
 * SPDX-License-Identifier: MIT
 *
 * Chunks, runs and remote frees of one sub-heap; see subheap.h. Every path here is off the fast
 * one: once a span, a run, or a batch of remote frees.
 */
#include "cia_malloc/subheap.h"

#include "base/report.h"

#include <stdlib.h>

enum {
    CHUNK_PROBES = 8, /* chunks with room looked at before a new one is mapped */
    /* A chunk with fewer free pages than this is not looked at until it has four times as many. */
    ROOM_PAGES = 16,
    /* Free pages kept populated for the next run: 8 MiB, or an eighth of what is in use. */
    DIRTY_PAGES_LEAST = 2048,
    /* Pages purged in one call: 4 MiB take the kernel some hundred microseconds. */
    PURGE_PAGES_MOST = 1024,
    /* Pages of spans with remote frees that may wait, in units of 4, before a freeing thread sees
       to it: 4 MiB. */
    INBOX_WEIGHT_GREATEST = 256,
};

/* L2 sets in pages: runs of one class go on through the L2 sets where the one before ended. */
static uint32_t l2_pages = 1;

void subheap_initialise(uint32_t l2_sets)
{
    uint32_t pages = l2_sets / LINES_PER_PAGE;

    /* A larger L2 is spread over as well by 64 pages; more would leave holes in the chunks. */
    l2_pages = pages < 1 ? 1 : pages > 64 ? 64 : pages;
}

struct subheap *subheap_create(uint32_t number)
{
    struct subheap *heap = page_source_map_metadata(sizeof *heap);

    if (heap == NULL)
        return NULL;
    heap->number = number;
    heap->purge_at = DIRTY_PAGES_LEAST;
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        class_heap_initialise(&heap->classes[i], i);
    return heap;
}

static struct chunk **circle_of(struct subheap *heap, const struct chunk *chunk)
{
    return chunk->has_room ? &heap->roomy : &heap->full;
}

static void chunks_insert(struct subheap *heap, struct chunk *chunk, bool has_room)
{
    chunk->has_room = has_room;
    struct chunk **first = circle_of(heap, chunk);
    if (*first == NULL) {
        chunk->next = chunk->previous = chunk;
    } else {
        chunk->next = *first;
        chunk->previous = (*first)->previous;
        chunk->previous->next = chunk;
        (*first)->previous = chunk;
    }
    *first = chunk;
}

static void chunks_remove(struct subheap *heap, struct chunk *chunk)
{
    struct chunk **first = circle_of(heap, chunk);

    if (chunk->next == chunk) {
        *first = NULL;
        return;
    }
    chunk->previous->next = chunk->next;
    chunk->next->previous = chunk->previous;
    if (*first == chunk)
        *first = chunk->next;
}

/* Takes pages from one chunk and keeps the sub-heap's sums. */
static bool take_from_chunk(struct subheap *heap, struct chunk *chunk, uint32_t pages,
                            uint32_t modulus, uint32_t residue, uint32_t *page, bool *clean)
{
    uint32_t dirty_before = chunk->dirty_pages;
    int first = chunk_take_pages(chunk, pages, modulus, residue, clean);

    if (first < 0)
        return false;
    *page = (uint32_t)first;
    heap->used_pages += pages;
    heap->dirty_pages -= dirty_before - chunk->dirty_pages;
    if (chunk->has_room && CHUNK_PAGES - chunk->used_pages < ROOM_PAGES) {
        chunks_remove(heap, chunk);
        chunks_insert(heap, chunk, false);
    }
    return true;
}

/* Goes round a circle for so many chunks. */
static struct chunk *take_from_circle(struct subheap *heap, struct chunk **circle, uint32_t probes,
                                      uint32_t pages, uint32_t modulus, uint32_t residue,
                                      uint32_t *page, bool *clean)
{
    struct chunk *begin = *circle;
    struct chunk *chunk = begin;

    for (; chunk != NULL && probes > 0; probes--) {
        if (take_from_chunk(heap, chunk, pages, modulus, residue, page, clean))
            return chunk;
        chunk = chunk->next;
        if (chunk == begin)
            break;
    }
    *circle = chunk; /* the next search begins with others */
    return NULL;
}

static struct chunk *take_from_chunks(struct subheap *heap, uint32_t pages, uint32_t modulus,
                                      uint32_t residue, uint32_t *page, bool *clean)
{
    return take_from_circle(heap, &heap->roomy, CHUNK_PROBES, pages, modulus, residue, page, clean);
}

/* For when no more chunks are to be had: looks at all of them. */
static struct chunk *take_from_any_chunk(struct subheap *heap, uint32_t pages, uint32_t modulus,
                                         uint32_t residue, uint32_t *page, bool *clean)
{
    struct chunk *chunk = take_from_circle(heap, &heap->roomy, heap->chunk_count, pages, modulus,
                                           residue, page, clean);

    return chunk != NULL ? chunk
                         : take_from_circle(heap, &heap->full, heap->chunk_count, pages, modulus,
                                            residue, page, clean);
}

static struct chunk *take_from_new_chunk(struct subheap *heap, uint32_t pages, uint32_t modulus,
                                         uint32_t residue, uint32_t *page, bool *clean)
{
    struct chunk *chunk = chunk_create(heap);

    if (chunk == NULL)
        return NULL;
    chunks_insert(heap, chunk, true);
    heap->chunk_count++;
    return take_from_chunk(heap, chunk, pages, modulus, residue, page, clean) ? chunk : NULL;
}

struct chunk *subheap_take_pages(struct subheap *heap, uint32_t pages, uint32_t modulus,
                                 uint32_t residue, uint32_t *page, bool *clean)
{
    struct chunk *chunk = take_from_chunks(heap, pages, modulus, residue, page, clean);

    if (chunk == NULL)
        chunk = take_from_new_chunk(heap, pages, modulus, residue, page, clean);
    if (chunk == NULL)
        chunk = take_from_any_chunk(heap, pages, modulus, residue, page, clean);
    return chunk;
}

static uint32_t purge_circle(struct subheap *heap, struct chunk *chunk, uint32_t most)
{
    struct chunk *begin = chunk;
    uint32_t purged = 0;

    while (chunk != NULL && purged < most) {
        if (chunk->dirty_pages > 0)
            purged += chunk_purge(chunk, most - purged);
        chunk = chunk->next;
        if (chunk == begin)
            break;
    }
    heap->dirty_pages -= purged;
    return purged;
}

static uint32_t purge(struct subheap *heap, uint32_t most)
{
    uint32_t purged = purge_circle(heap, heap->roomy, most);

    if (purged < most)
        purged += purge_circle(heap, heap->full, most - purged);
    return purged;
}

/* Keeps the dirty pages within bounds, a bounded number of them a call. */
static void purge_some(struct subheap *heap)
{
    if (purge(heap, PURGE_PAGES_MOST) == 0) /* the program has locked its memory: do not insist */
        heap->purge_at = 2 * heap->dirty_pages;
    else
        heap->purge_at = DIRTY_PAGES_LEAST;
}

static void return_pages(struct subheap *heap, struct chunk *chunk, uint32_t page, uint32_t pages)
{
    chunk_return_pages(chunk, page, pages);
    heap->used_pages -= pages;
    heap->dirty_pages += pages;

    if (chunk->used_pages == 0 && heap->chunk_count > 1) {
        chunks_remove(heap, chunk);
        heap->chunk_count--;
        heap->dirty_pages -= chunk->dirty_pages;
        chunk_destroy(chunk);
    } else if (!chunk->has_room && CHUNK_PAGES - chunk->used_pages >= 4 * ROOM_PAGES) {
        chunks_remove(heap, chunk);
        chunks_insert(heap, chunk, true);
    }
    if (heap->dirty_pages > heap->purge_at && heap->dirty_pages > heap->used_pages / 8)
        purge_some(heap);
}

static bool add_run(struct subheap *heap, struct class_heap *class_heap)
{
    const struct class_layout *layout = &class_layouts[class_heap->size_class];
    uint32_t type = class_heap_wanted_type(class_heap);
    uint32_t pages = class_layout_run_pages(layout, type);
    uint32_t colour_pages = colours / LINES_PER_PAGE;
    uint32_t colour_page = class_layout_run_offset(layout, type) / LINES_PER_PAGE;
    struct chunk *chunk = NULL;
    uint32_t page;
    bool clean;

    if (class_heap->has_runs && l2_pages > colour_pages) {
        /* Where the L2 wants it; then anywhere of the right colour; then in new memory. */
        uint32_t l2_page = class_heap_wanted_page(class_heap, type) & (l2_pages - 1);

        chunk = take_from_chunks(heap, pages, l2_pages, l2_page, &page, &clean);
        if (chunk == NULL)
            chunk = take_from_chunks(heap, pages, colour_pages, colour_page, &page, &clean);
        if (chunk == NULL)
            chunk = take_from_new_chunk(heap, pages, l2_pages, l2_page, &page, &clean);
        if (chunk == NULL)
            chunk = take_from_any_chunk(heap, pages, colour_pages, colour_page, &page, &clean);
    } else {
        chunk = subheap_take_pages(heap, pages, colour_pages, colour_page, &page, &clean);
    }
    if (chunk == NULL)
        return false;
    class_heap_add_run(class_heap, chunk, page, type, clean);
    return true;
}

void *subheap_allocate_slow(struct subheap *heap, unsigned size_class, bool *untouched)
{
    struct class_heap *class_heap = &heap->classes[size_class];
    void *block;

    subheap_drain(heap);
    block = class_heap_allocate_slow(class_heap, false, untouched);
    if (block != NULL)
        return block;
    if (!add_run(heap, class_heap)) {
        block = class_heap_allocate_slow(class_heap, true, untouched);
        if (block != NULL)
            return block;
        subheap_trim(heap); /* other classes may hold idle pages */
        if (!add_run(heap, class_heap))
            return NULL;
    }
    return class_heap_allocate_slow(class_heap, true, untouched);
}

static void release_run(struct subheap *heap, struct class_heap *class_heap, struct chunk *chunk,
                        uint32_t page)
{
    uint32_t pages = chunk->spans[page].run_pages;

    class_heap_remove_run(class_heap, chunk, page);
    return_pages(heap, chunk, page, pages);
}

void subheap_settle(struct subheap *heap, struct span *span)
{
    struct class_heap *class_heap = &heap->classes[span->size_class];

    if (class_heap_settle(class_heap, span))
        release_run(heap, class_heap, span->chunk, span->run_page);
}

void subheap_free_large(struct subheap *heap, struct span *span)
{
    heap->large_live--;
    heap->large_pages_live -= span->run_pages;
    return_pages(heap, span->chunk, span->run_page, span->run_pages);
}

static void free_batch(struct subheap *heap, struct span *span, uint64_t bits)
{
    struct class_heap *class_heap = &heap->classes[span->size_class];

    if (span->size_class == CLASS_LARGE) {
        subheap_free_large(heap, span);
        return;
    }
    for (uint64_t left = bits; left != 0; left &= left - 1)
        class_heap_put(class_heap, span, left & -left);
    if (class_heap_is_unsettled(class_heap, span))
        subheap_settle(heap, span);
}

void subheap_drain(struct subheap *heap)
{
    /* Most slow paths find it empty: read before taking the line for writing. */
    if (atomic_load_explicit(&heap->inbox, memory_order_relaxed) == NULL)
        return;
    atomic_store_explicit(&heap->inbox_weight, 0, memory_order_relaxed);

    /* Acquire pairs with the release of each push: the spans' next words are there. */
    struct span_remote *remote = atomic_exchange_explicit(&heap->inbox, NULL, memory_order_acquire);
    while (remote != NULL) {
        /* Read next before the word is zeroed: from then on another thread may push the span. */
        struct span_remote *next = remote->next;
        struct span *span = span_of_remote(remote);
        /* Acquire pairs with the release in subheap_free_remote: what the freeing threads did to
           the blocks happened before they are handed out again. Release pairs with its acquire: the
           thread that finds 0 and pushes the span writes next after we have read it. */
        uint64_t bits = atomic_exchange_explicit(&remote->freed, 0, memory_order_acq_rel);

        if ((bits & span->free) != 0)
            subheap_double_free(span, bits & span->free);
        free_batch(heap, span, bits);
        remote = next;
    }
}

void subheap_free_remote(struct chunk *chunk, uint32_t span_index, uint64_t bit,
                         uint32_t span_pages)
{
    struct span_remote *remote = &chunk->remotes[span_index];
    struct subheap *heap = chunk->owner;
    /* Release: our accesses to the block come before its reuse. Acquire: see subheap_drain. */
    uint64_t before = atomic_fetch_or_explicit(&remote->freed, bit, memory_order_acq_rel);

    if (__builtin_expect((before & bit) != 0, 0))
        subheap_double_free(&chunk->spans[span_index], bit);
    if (before != 0)
        return; /* whoever set the first bit pushes the span; do not touch it again */

    struct span_remote *head = atomic_load_explicit(&heap->inbox, memory_order_relaxed);
    do
        remote->next = head;
    while (!atomic_compare_exchange_weak_explicit(&heap->inbox, &head, remote, memory_order_release,
                                                  memory_order_relaxed));

    /* The owner may never come back to this CPU: whoever fills the inbox empties it. */
    if (atomic_fetch_add_explicit(&heap->inbox_weight, 1 + span_pages / 4, memory_order_relaxed) >=
            INBOX_WEIGHT_GREATEST &&
        subheap_try_lock(heap)) {
        subheap_drain(heap);
        subheap_unlock(heap);
    }
}

/* The chunk may be gone afterwards. */
static void release_idle_runs_of(struct subheap *heap, struct chunk *chunk)
{
    uint32_t page = 0;

    while (page < CHUNK_PAGES) {
        unsigned size_class = chunk->pages[page].size_class;
        uint32_t pages = 1;

        if (size_class <= CLASS_LARGE)
            pages = chunk->spans[page].run_pages;
        if (size_class < SIZE_CLASS_COUNT &&
            class_heap_run_is_idle(&heap->classes[size_class], chunk, page)) {
            bool last = chunk->used_pages == pages && heap->chunk_count > 1;

            release_run(heap, &heap->classes[size_class], chunk, page);
            if (last)
                return;
        }
        page += pages;
    }
}

/* Chunks leave the circle or change it meanwhile: count them first, and go on from the next one. */
static void release_idle_runs(struct subheap *heap, struct chunk *chunk)
{
    struct chunk *begin = chunk;
    uint32_t count = 0;

    for (; chunk != NULL; chunk = chunk->next) {
        count++;
        if (chunk->next == begin)
            break;
    }
    for (chunk = begin; count > 0; count--) {
        struct chunk *next = chunk->next;

        release_idle_runs_of(heap, chunk);
        chunk = next;
    }
}

bool subheap_trim(struct subheap *heap)
{
    size_t mapped_before = page_source_mapped_bytes();
    uint32_t purged;

    subheap_drain(heap);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        class_heap_retire_current(&heap->classes[i]);

    release_idle_runs(heap, heap->roomy);
    release_idle_runs(heap, heap->full);
    purged = purge(heap, UINT32_MAX);
    return purged > 0 || page_source_mapped_bytes() < mapped_before;
}

_Noreturn void subheap_double_free(const struct span *span, uint64_t bits)
{
    uint32_t bit = (uint32_t)__builtin_ctzll(bits);
    const struct class_layout *layout = &class_layouts[span->size_class];
    const char *block = span->base;

    if (span->size_class != CLASS_LARGE)
        block +=
            (size_t)((bit - span->phase) & (layout->span_blocks - 1u)) * layout->lines * LINE_BYTES;
    report_line("libcia_malloc: double free of the block at %p", (const void *)block);
    abort();
}
