/*
 * SPDX-License-Identifier: MIT
 *
 * Large and huge blocks; see large.h.
 */
#include "cia_malloc/large.h"

#include "cia_malloc/huge_cache.h"

enum { HUGE_RECORDS_A_PAGE = 16 };

/* Written once a mapping of more than half a MiB comes or goes. */
static atomic_size_t huge_bytes_live, huge_blocks_live;
static _Atomic uint64_t huge_made;

static size_t round_up_to_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* The next colour in turn for blocks of so many pages. */
static uint32_t next_colour(struct subheap *heap, size_t pages)
{
    uint8_t *turn = &heap->large_colour[pages % LARGE_CURSORS];
    /* Lengths begin in different colours; the first of each would all fall into colour 0. */
    uint32_t colour = (*turn + (uint32_t)(pages % LARGE_CURSORS) * 29) & (colours - 1);

    (*turn)++;
    return colour;
}

/* Pages for a block whose first line lies first_line lines behind a page's beginning. */
static uint32_t pages_of(size_t bytes, uint32_t first_line)
{
    return (uint32_t)(round_up_to_pages(bytes + (size_t)first_line * LINE_BYTES) / PAGE_BYTES);
}

/* In a chunk: a run that is one span with one block. */
static void *run_allocate(struct subheap *heap, size_t bytes, size_t alignment, bool *zeroed)
{
    struct page_request request = {.modulus = 1};
    struct page_run run;
    uint32_t first_line = 0;

    if (alignment <= LINE_BYTES) {
        uint32_t colour = next_colour(heap, pages_of(bytes, 0));

        request.modulus = colours / LINES_PER_PAGE;
        request.residue = colour / LINES_PER_PAGE;
        first_line = colour % LINES_PER_PAGE;
    } else if (alignment > PAGE_BYTES) {
        request.modulus = (uint32_t)(alignment / PAGE_BYTES);
    }
    request.pages = pages_of(bytes, first_line);
    request.preferred_modulus = request.modulus;
    request.preferred_residue = request.residue;

    bool taken = page_heap_take(&heap->pages, &request, &run);
    if (!taken) {
        subheap_trim(heap);
        taken = page_heap_take(&heap->pages, &request, &run);
    }
    if (!taken && alignment <= LINE_BYTES) {
        /* A hole that a block of this length left may be a page too short for this colour. */
        request = (struct page_request){
            .pages = pages_of(bytes, 0), .modulus = 1, .preferred_modulus = 1};
        first_line %= (uint32_t)(((size_t)request.pages * PAGE_BYTES - bytes) / LINE_BYTES + 1);
        taken = page_heap_take(&heap->pages, &request, &run);
    }
    if (!taken)
        return NULL;
    struct chunk *chunk = run.chunk;
    uint32_t page = run.page, pages = request.pages;
    *zeroed = run.clean;

    struct page_info info = {
        .run_page = (uint16_t)page,
        .first_line = (uint16_t)first_line,
        .size_class = CLASS_LARGE,
    };
    for (uint32_t i = 0; i < pages; i++)
        chunk->pages[page + i] = info;
    chunk->remotes[page].chunk = chunk;
    chunk->spans[page] = (struct span){
        .base = chunk->base + (size_t)page * PAGE_BYTES + (size_t)first_line * LINE_BYTES,
        .chunk = chunk,
        .size_class = CLASS_LARGE,
        .run_page = (uint16_t)page,
        .run_pages = (uint16_t)pages,
    };
    heap->large_live++;
    heap->large_allocations++;
    heap->large_pages_live += pages;
    return chunk->spans[page].base;
}

/*
 * Unused records of mappings that were freed, on any CPU: pushed by compare-and-swap, taken whole
 * by exchange, so that there is no ABA. Records are kept for ever: a few bytes for each half MiB
 * that was ever in use at once.
 */
static _Atomic(struct huge *) unused_records;

static struct huge *record_take(struct subheap *heap)
{
    if (heap->huge_records == NULL) /* acquire pairs with the release in record_put */
        heap->huge_records = atomic_exchange_explicit(&unused_records, NULL, memory_order_acquire);
    if (heap->huge_records == NULL) {
        struct huge *fresh = page_source_map_metadata(HUGE_RECORDS_A_PAGE * sizeof *fresh);

        for (int i = 0; fresh != NULL && i < HUGE_RECORDS_A_PAGE; i++) {
            fresh[i].next = heap->huge_records;
            heap->huge_records = &fresh[i];
        }
    }
    struct huge *record = heap->huge_records;
    if (record != NULL)
        heap->huge_records = record->next;
    return record;
}

static void record_put(struct huge *record)
{
    struct huge *head = atomic_load_explicit(&unused_records, memory_order_relaxed);

    do
        record->next = head;
    while (!atomic_compare_exchange_weak_explicit(&unused_records, &head, record,
                                                  memory_order_release, memory_order_relaxed));
}

static size_t offset_of_colour(uint32_t colour, size_t alignment)
{
    return alignment <= LINE_BYTES ? (size_t)colour * LINE_BYTES : 0;
}

/* The record has its mapping: the block begins so far behind that, and is live. */
static void *huge_begin(struct huge *record, size_t offset)
{
    record->kind = OWNER_HUGE;
    record->block = record->base + offset;
    if (!page_source_register(record->block, record))
        return NULL;
    atomic_fetch_add_explicit(&huge_bytes_live, record->mapped_bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&huge_blocks_live, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&huge_made, 1, memory_order_relaxed);
    return record->block;
}

static void give_back(struct huge *record)
{
    page_source_unmap(record->base, record->mapped_bytes);
    record_put(record);
}

static void *huge_map(struct huge *record, size_t bytes, size_t alignment, uint32_t colour)
{
    size_t offset = offset_of_colour(colour, alignment);
    size_t total = round_up_to_pages(bytes + offset);

    if (alignment < CHUNK_BYTES)
        alignment = CHUNK_BYTES;
    record->base = page_source_map(total, alignment);
    if (record->base == NULL && huge_give_back_all() > 0)
        record->base = page_source_map(total, alignment);
    if (record->base == NULL) {
        record_put(record);
        return NULL;
    }
    record->mapped_bytes = total;
    void *block = huge_begin(record, offset);
    if (block == NULL)
        give_back(record);
    return block;
}

/*
 * Makes a kept mapping as long as it has to be: page tables change, and only pages that it did not
 * have are faulted in and zeroed. A little too long may stay so.
 */
static bool huge_fit(struct huge *record, size_t total)
{
    size_t mapped = record->mapped_bytes;

    if (mapped >= total && mapped <= huge_cache_longest_for(total))
        return true;
    if (!page_source_resize(record->base, mapped, total)) {
        char *base = page_source_map(total, CHUNK_BYTES);

        if (base == NULL)
            return false;
        if (!page_source_move(record->base, mapped, base, total))
            return false; /* the new place may be another thread's by now, see huge_resize */
        record->base = base;
    }
    record->mapped_bytes = total;
    return true;
}

/* A block in a mapping that was kept. NULL, the mapping unmapped, when that cannot be. */
static void *huge_reuse(struct huge *record, size_t bytes, size_t alignment, uint32_t colour)
{
    size_t offset = offset_of_colour(colour, alignment);
    void *block = NULL;

    if (huge_fit(record, round_up_to_pages(bytes + offset)))
        block = huge_begin(record, offset);
    if (block == NULL)
        page_source_unmap(record->base, record->mapped_bytes);
    return block;
}

void *large_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment, bool *zeroed)
{
    size_t pages = round_up_to_pages(bytes) / PAGE_BYTES;

    if (pages <= LARGE_GREATEST_PAGES && alignment <= (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES) {
        void *block = run_allocate(heap, bytes, alignment, zeroed);

        subheap_unlock(heap);
        return block;
    }
    /* Kept mappings are aligned to chunks; their records come with them. */
    struct huge *record =
        alignment <= CHUNK_BYTES ? huge_cache_take((size_t)pages * PAGE_BYTES) : NULL;
    bool kept = record != NULL;
    if (!kept)
        record = record_take(heap);
    uint32_t colour = next_colour(heap, pages);

    subheap_unlock(heap);
    if (record == NULL)
        return NULL;
    void *block = kept ? huge_reuse(record, bytes, alignment, colour) : NULL;
    *zeroed = block == NULL;
    return block != NULL ? block : huge_map(record, bytes, alignment, colour);
}

size_t huge_give_back_all(void)
{
    size_t bytes = 0;
    struct huge *record;

    while ((record = huge_cache_take_oldest(UINT64_MAX)) != NULL) {
        bytes += record->mapped_bytes;
        give_back(record);
    }
    return bytes;
}

size_t huge_give_back_old(uint64_t now)
{
    enum { BYTES_MOST = 64 << 20 }; /* but one mapping at least: some ten milliseconds */
    int32_t time = decay_milliseconds();
    size_t bytes = 0;
    struct huge *record;

    while (time != DECAY_NEVER && now >= (uint64_t)time && bytes < BYTES_MOST &&
           (record = huge_cache_take_oldest(now - (uint64_t)time)) != NULL) {
        bytes += record->mapped_bytes;
        give_back(record);
    }
    return bytes;
}

/* How many bytes of mappings may be kept: a quarter of what is in use, within bounds. */
static size_t keep_most(void)
{
    enum { LEAST = 64 << 20, MOST = 1 << 30 };
    size_t share =
        (atomic_load_explicit(&huge_bytes_live, memory_order_relaxed) + page_heap_used_bytes()) / 4;

    return share < LEAST ? LEAST : share > MOST ? MOST : share;
}

/* False: it is to be given back. */
static bool keep(struct huge *huge, uint64_t now)
{
    size_t most = keep_most();
    struct huge *oldest;

    if (decay_milliseconds() == DECAY_AT_ONCE || huge->mapped_bytes > most)
        return false;
    while (huge_cache_bytes() > most - huge->mapped_bytes &&
           (oldest = huge_cache_take_oldest(UINT64_MAX)) != NULL)
        give_back(oldest);
    if (huge_cache_put(huge, now))
        return true;
    oldest = huge_cache_take_oldest(UINT64_MAX); /* there was no slot */
    if (oldest != NULL)
        give_back(oldest);
    return huge_cache_put(huge, now);
}

void huge_free(struct huge *huge)
{
    uint64_t now = decay_clock();

    page_source_forget(huge->block);
    atomic_fetch_sub_explicit(&huge_bytes_live, huge->mapped_bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&huge_blocks_live, 1, memory_order_relaxed);
    huge_give_back_old(now);
    if (!keep(huge, now))
        give_back(huge);
}

void *huge_resize(struct huge *huge, size_t new_bytes)
{
    size_t offset = (size_t)(huge->block - huge->base);
    size_t total = round_up_to_pages(new_bytes + offset);
    char *base;

    if (total != huge->mapped_bytes && !page_source_resize(huge->base, huge->mapped_bytes, total)) {
        base = page_source_map(total, CHUNK_BYTES);
        if (base == NULL)
            return NULL;
        /* Register first: it is what can fail. */
        if (!page_source_register(base + offset, huge)) {
            page_source_unmap(base, total);
            return NULL;
        }
        /* Forget the old place while it is still ours: once the pages have moved, another thread
           may map it and register it. */
        page_source_forget(huge->block);
        if (!page_source_move(huge->base, huge->mapped_bytes, base, total)) {
            (void)page_source_register(huge->block, huge); /* the leaf is there: cannot fail */
            page_source_forget(base + offset);
            /* The kernel may have unmapped the new place before it failed, and given it to another
               thread since: leave it alone. It costs addresses, not memory. */
            return NULL;
        }
        huge->base = base;
        huge->block = base + offset;
    }
    atomic_fetch_add_explicit(&huge_bytes_live, total - huge->mapped_bytes, memory_order_relaxed);
    huge->mapped_bytes = total;
    return huge->block;
}

void huge_totals(size_t *bytes, size_t *blocks)
{
    *bytes = atomic_load_explicit(&huge_bytes_live, memory_order_relaxed);
    *blocks = atomic_load_explicit(&huge_blocks_live, memory_order_relaxed);
}

uint64_t huge_allocations(void)
{
    return atomic_load_explicit(&huge_made, memory_order_relaxed);
}
