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
    /* A chunk with fewer free pages than this moves behind those with room, so that it is not
       looked at again and again; it moves to the front when it has four times as many. */
    ROOM_PAGES = 16,
    /* Free pages kept populated for the next run: 2 MiB, or an eighth of what is in use. */
    DIRTY_PAGES_LEAST = 512,
    /* Spans with remote frees that may wait before the freeing thread sees to it. */
    INBOX_GREATEST = 256,
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
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        class_heap_initialise(&heap->classes[i], i);
    return heap;
}

static void chunks_insert(struct subheap *heap, struct chunk *chunk, bool in_front)
{
    if (heap->chunks == NULL) {
        chunk->next = chunk->previous = chunk;
        heap->chunks = chunk;
        return;
    }
    chunk->next = heap->chunks;
    chunk->previous = heap->chunks->previous;
    chunk->previous->next = chunk;
    heap->chunks->previous = chunk;
    if (in_front)
        heap->chunks = chunk;
}

static void chunks_remove(struct subheap *heap, struct chunk *chunk)
{
    if (chunk->next == chunk) {
        heap->chunks = NULL;
        return;
    }
    chunk->previous->next = chunk->next;
    chunk->next->previous = chunk->previous;
    if (heap->chunks == chunk)
        heap->chunks = chunk->next;
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
    if (CHUNK_PAGES - chunk->used_pages < ROOM_PAGES && chunk->next != chunk) {
        chunks_remove(heap, chunk);
        chunks_insert(heap, chunk, false);
    }
    return true;
}

static struct chunk *take_from_chunks(struct subheap *heap, uint32_t pages, uint32_t modulus,
                                      uint32_t residue, uint32_t *page, bool *clean)
{
    struct chunk *chunk = heap->chunks;

    for (uint32_t probe = 0; chunk != NULL && probe < CHUNK_PROBES; probe++) {
        struct chunk *next = chunk->next;

        if (take_from_chunk(heap, chunk, pages, modulus, residue, page, clean))
            return chunk;
        if (next == heap->chunks)
            break;
        chunk = next;
    }
    return NULL;
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

    return chunk != NULL ? chunk : take_from_new_chunk(heap, pages, modulus, residue, page, clean);
}

static void purge(struct subheap *heap)
{
    struct chunk *chunk = heap->chunks;

    for (uint32_t i = 0; i < heap->chunk_count; i++, chunk = chunk->next)
        heap->dirty_pages -= chunk_purge(chunk);
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
    } else if (CHUNK_PAGES - chunk->used_pages >= 4 * ROOM_PAGES) {
        chunks_remove(heap, chunk);
        chunks_insert(heap, chunk, true);
    }
    if (heap->dirty_pages > DIRTY_PAGES_LEAST && heap->dirty_pages > heap->used_pages / 8)
        purge(heap);
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
    block = class_heap_allocate_slow(class_heap, untouched);
    if (block != NULL)
        return block;
    if (!add_run(heap, class_heap)) {
        subheap_trim(heap); /* other classes may hold idle pages */
        if (!add_run(heap, class_heap))
            return NULL;
    }
    return class_heap_allocate_slow(class_heap, untouched);
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
    atomic_store_explicit(&heap->inbox_pushes, 0, memory_order_relaxed);

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

void subheap_free_remote(struct chunk *chunk, uint32_t span_index, uint64_t bit)
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
    if (atomic_fetch_add_explicit(&heap->inbox_pushes, 1, memory_order_relaxed) >= INBOX_GREATEST &&
        subheap_try_lock(heap)) {
        subheap_drain(heap);
        subheap_unlock(heap);
    }
}

static void release_idle_runs(struct subheap *heap, struct chunk *chunk)
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
                return; /* the chunk is gone */
        }
        page += pages;
    }
}

bool subheap_trim(struct subheap *heap)
{
    size_t mapped_before = page_source_mapped_bytes();
    uint32_t dirty_before;

    subheap_drain(heap);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        class_heap_retire_current(&heap->classes[i]);

    struct chunk *chunk = heap->chunks;
    for (uint32_t left = heap->chunk_count; left > 0; left--) {
        struct chunk *next = chunk->next;

        release_idle_runs(heap, chunk);
        chunk = next;
    }
    dirty_before = heap->dirty_pages;
    purge(heap);
    return heap->dirty_pages < dirty_before || page_source_mapped_bytes() < mapped_before;
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
