/*
 * SPDX-License-Identifier: MIT
 *
 * Large and huge blocks; see large.h.
 */
#include "cia_malloc/large.h"

#include "base/probes.h"
#include "cia_malloc/block.h"
#include "cia_malloc/harden.h"
#include "cia_malloc/huge_cache.h"

enum {
    HUGE_RECORDS_A_PAGE = 16,
    /* Mappings with closed pages on both sides are three to the kernel, which has 65,530 for a
       process. With so many of them blocks that can do without a mapping do without. */
    CLOSED_MOST = 16 << 10,
    /* So many mappings of freed blocks stay closed; the oldest of more may serve another block. */
    CLOSED_KEPT = HUGE_CACHE_SLOTS / 2,
};

/* Written once a mapping of more than half a MiB comes or goes. */
static atomic_size_t huge_bytes_live, huge_blocks_live;
/* The most that those ever were. Each is raised by whoever raised the other above it. */
static atomic_size_t huge_bytes_most, huge_blocks_most;
static _Atomic uint64_t huge_made;

static size_t round_up_to_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* Bytes that are closed behind a mapping's block, at least. */
static size_t guard_bytes(void)
{
    return harden_is_on() ? PAGE_BYTES : 0;
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
    if (!taken && subheap_trim_for_want(heap))
        taken = page_heap_take(&heap->pages, &request, &run);
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
        .first_line = (uint8_t)first_line,
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

/*
 * Where in its mapping a block begins, by its colour. All mappings begin at a multiple of 4 MiB,
 * and pages that lie a power of two apart share a set of the TLB and of the L2: so the page is
 * taken in turn as well. The pages before it are never touched. (128 buffers read in step, 4 MiB
 * less a line apart: 10.7 ns a line; 4 MiB and a page and a line: 3.2.)
 */
static size_t offset_of_colour(uint32_t colour, size_t alignment)
{
    enum { PAGES_IN_TURN = 32 }; /* 128 KiB of addresses */
    size_t page = (size_t)(colour % PAGES_IN_TURN) * PAGE_BYTES + guard_bytes();

    if (alignment <= LINE_BYTES)
        return page + (size_t)colour * LINE_BYTES;
    if (alignment <= PAGE_BYTES)
        return page;
    /* What is closed before the block is a multiple of its alignment, if that is no whole chunk. */
    return guard_bytes() != 0 && alignment < CHUNK_BYTES ? alignment : 0;
}

/* How much of a mapping is closed before the pages of its block. */
static size_t closed_before(const struct huge *record)
{
    return (size_t)(record->block - record->base) & ~(size_t)(PAGE_BYTES - 1);
}

/* Closes what is mapped beside the block, as far as the kernel will. */
static void close_both_sides(const struct huge *record)
{
    (void)page_source_close(record->base, closed_before(record));
    (void)page_source_close(record->base + record->mapped_bytes, record->spare_bytes);
}

/* more may be negative, modulo 2^64: then the sum is no greater than it was. */
static void add_and_note(atomic_size_t *sum, atomic_size_t *most, size_t more)
{
    size_t now = atomic_fetch_add_explicit(sum, more, memory_order_relaxed) + more;
    size_t before = atomic_load_explicit(most, memory_order_relaxed);

    while (now > before && !atomic_compare_exchange_weak_explicit(
                               most, &before, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* The record has its mapping: the block begins so far behind that, and is live. */
static void *huge_begin(struct huge *record, size_t offset)
{
    record->kind = OWNER_HUGE;
    record->block = record->base + offset;
    if (!page_source_register(record->block, record))
        return NULL;
    add_and_note(&huge_bytes_live, &huge_bytes_most, record->mapped_bytes);
    add_and_note(&huge_blocks_live, &huge_blocks_most, 1);
    atomic_fetch_add_explicit(&huge_made, 1, memory_order_relaxed);
    return record->block;
}

static void give_back(struct huge *record)
{
    PROBE3(memory_given_back, record->base, huge_extent(record), 1);
    page_source_unmap(record->base, huge_extent(record));
    record_put(record);
}

static size_t round_up_to_chunks(size_t bytes)
{
    return (bytes + CHUNK_BYTES - 1) & ~(size_t)(CHUNK_BYTES - 1);
}

/*
 * Mappings begin at chunks. Long ones end there too, so that those of neighbours are one when both
 * are kept, and what one block leaves of a longer one is one for another block.
 */
static size_t extent_for(size_t total)
{
    if (total >= CHUNK_BYTES)
        return round_up_to_chunks(total);
    /* What is closed behind a block costs no memory, and a power of two suits more blocks later. */
    return harden_is_on() ? (size_t)1 << (64 - __builtin_clzll(total - 1)) : total;
}

static bool map_extent(struct huge *record, size_t extent, size_t total, size_t alignment)
{
    record->base = page_source_map(extent, alignment);
    if (record->base != NULL)
        page_source_bind(record->base, extent, record->node);
    record->mapped_bytes = total;
    record->spare_bytes = extent - total;
    return record->base != NULL;
}

/*
 * With CIA_HARDEN=1: a block in the mapping that has been closed for longest, if there are many,
 * and it is right for that. NULL: there is none.
 */
static void *huge_reopen(size_t total, size_t offset, uint8_t node)
{
    size_t least = total + guard_bytes(), before = offset & ~(size_t)(PAGE_BYTES - 1);
    struct huge *oldest =
        huge_cache_count() > CLOSED_KEPT ? huge_cache_take_oldest(UINT64_MAX) : NULL;
    void *block = NULL;

    if (oldest == NULL)
        return NULL;
    size_t extent = huge_extent(oldest);
    oldest->mapped_bytes = total;
    oldest->spare_bytes = extent - total;
    if (extent >= least && extent <= extent_for(least) && oldest->node == node &&
        page_source_open(oldest->base + before, total - before))
        block = huge_begin(oldest, offset);
    if (block == NULL)
        give_back(oldest);
    return block;
}

static void *huge_map(struct huge *record, size_t total, size_t offset, size_t alignment)
{
    if (alignment < CHUNK_BYTES)
        alignment = CHUNK_BYTES;
    size_t least = total + guard_bytes();

    if (!map_extent(record, extent_for(least), total, alignment) &&
        !map_extent(record, least, total, alignment) &&
        (huge_give_back_all() == 0 || !map_extent(record, least, total, alignment))) {
        record_put(record);
        return NULL;
    }
    void *block = huge_begin(record, offset);
    if (block == NULL)
        give_back(record);
    else if (harden_is_on())
        close_both_sides(record);
    return block;
}

/* Makes a kept mapping longer: page tables change, and only pages that it did not have are zeroed.
 */
static bool extend(struct huge *record, size_t extent)
{
    if (!page_source_resize(record->base, huge_extent(record), extent)) {
        char *base = page_source_map(extent, CHUNK_BYTES);

        if (base == NULL)
            return false;
        if (!page_source_move(record->base, huge_extent(record), base, extent))
            return false; /* the new place may be another thread's by now, see huge_resize */
        record->base = base;
    }
    record->spare_bytes = extent - record->mapped_bytes;
    return true;
}

/* Whether a kept mapping has a rest, beside what a block needs, that is worth keeping. */
static bool has_rest(const struct huge *kept, size_t total)
{
    return total >= CHUNK_BYTES && huge_extent(kept) >= extent_for(total) + CHUNK_BYTES;
}

/*
 * Cuts what a block does not need off a kept mapping. What is left of its last chunk stays where it
 * is, but does not stay populated if it is much. What is left beside that is kept, in this record,
 * for as long as it would have been.
 */
static void cut(struct huge *record, size_t total, struct huge *rest)
{
    size_t extent = huge_extent(record);

    if (rest != NULL) {
        *rest = (struct huge){
            .base = record->base + extent_for(total),
            .mapped_bytes = extent - extent_for(total),
            .since = record->since,
            .node = record->node,
        };
        extent = extent_for(total);
        if (!huge_cache_put(rest))
            give_back(rest);
    }
    record->mapped_bytes = total;
    record->spare_bytes = extent - total;
    if (record->spare_bytes > total / 2) {
        PROBE3(memory_given_back, record->base + total, record->spare_bytes, 0);
        page_source_purge(record->base + total, record->spare_bytes);
    }
}

/* A block in a mapping that was kept. NULL, and the mapping kept on, when it cannot grow. */
static void *huge_reuse(struct huge *kept, size_t total, size_t offset, struct huge *rest)
{
    if (huge_extent(kept) < total && !extend(kept, extent_for(total))) {
        if (!huge_cache_put(kept))
            give_back(kept);
        return NULL;
    }
    cut(kept, total, rest);
    void *block = huge_begin(kept, offset);
    if (block == NULL)
        give_back(kept);
    return block;
}

static void *huge_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment,
                                      bool *zeroed)
{
    uint32_t colour = next_colour(heap, round_up_to_pages(bytes) / PAGE_BYTES);
    size_t offset = offset_of_colour(colour, alignment);
    size_t total = round_up_to_pages(bytes + offset);
    uint8_t node = heap->pages.node;
    /* Kept mappings are aligned to chunks. Their records come with them. */
    bool reuse = alignment <= CHUNK_BYTES;
    struct huge *kept = reuse && !harden_is_on() ? huge_cache_take(total, node) : NULL;
    bool rest = kept != NULL && has_rest(kept, total);
    struct huge *record =
        kept == NULL || rest || huge_extent(kept) < total ? record_take(heap) : NULL;

    if (record != NULL)
        record->node = node;
    subheap_unlock(heap);
    if (reuse && harden_is_on()) {
        void *block = huge_reopen(total, offset, node);

        if (block != NULL) {
            if (record != NULL)
                record_put(record);
            *zeroed = true; /* it was purged when it was closed */
            return block;
        }
    }
    if (kept != NULL) {
        void *block = huge_reuse(kept, total, offset, rest ? record : NULL);

        if (block != NULL) {
            if (record != NULL && !rest)
                record_put(record);
            *zeroed = false;
            return block;
        }
        if (rest)
            return NULL; /* no memory, not even for a leaf of the table */
    }
    *zeroed = true;
    return record != NULL ? huge_map(record, total, offset, alignment) : NULL;
}

void *large_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment, bool *zeroed)
{
    size_t pages = round_up_to_pages(bytes) / PAGE_BYTES;

    if (pages > LARGE_GREATEST_PAGES || alignment > (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES ||
        (harden_is_on() && bytes > SIZE_CLASS_LARGEST &&
         atomic_load_explicit(&huge_blocks_live, memory_order_relaxed) < CLOSED_MOST))
        return huge_allocate_and_unlock(heap, bytes, alignment, zeroed);
    void *block = run_allocate(heap, bytes, alignment, zeroed);
    subheap_unlock(heap);
    return block;
}

size_t huge_give_back_all(void)
{
    size_t bytes = 0;
    struct huge *record;

    while ((record = huge_cache_take_oldest(UINT64_MAX)) != NULL) {
        bytes += huge_extent(record);
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
        bytes += huge_extent(record);
        give_back(record);
    }
    return bytes;
}

/* How many bytes of mappings may be kept: as many as are in use, within bounds. */
static size_t keep_most(void)
{
    enum { LEAST = 64 << 20, MOST = 1 << 30 };
    size_t in_use =
        atomic_load_explicit(&huge_bytes_live, memory_order_relaxed) + page_heap_used_bytes();

    return in_use < LEAST ? LEAST : in_use > MOST ? MOST : in_use;
}

/* Joins a mapping with kept ones beside it. */
static void join_neighbours(struct huge *huge)
{
    struct huge *other;

    while ((other = huge_cache_take_beside(huge)) != NULL) {
        if (!huge_cache_are_beside(other, huge)) { /* another thread was faster */
            if (!huge_cache_put(other))
                give_back(other);
            return;
        }
        size_t mine = huge->mapped_bytes, added = huge_extent(other);

        /* As old as its pages are on the average. */
        huge->since -= (uint64_t)((double)(huge->since - other->since) * (double)added /
                                  (double)(mine + added));
        huge->base = other->base < huge->base ? other->base : huge->base;
        huge->mapped_bytes = mine + added;
        record_put(other);
    }
}

/* Makes room for so many bytes among the kept ones: those kept for longest go, whole or in part. */
static void make_room(size_t bytes, size_t most)
{
    struct huge *oldest;

    for (;;) {
        size_t kept = huge_cache_bytes();

        if (kept + bytes <= most || (oldest = huge_cache_take_oldest(UINT64_MAX)) == NULL)
            return;
        size_t excess = round_up_to_chunks(kept + bytes - most), extent = huge_extent(oldest);
        if (excess < extent) {
            PROBE3(memory_given_back, oldest->base + (extent - excess), excess, 1);
            page_source_unmap(oldest->base + (extent - excess), excess);
            oldest->mapped_bytes = extent - excess;
            oldest->spare_bytes = 0;
            if (huge_cache_put(oldest))
                continue;
        }
        give_back(oldest);
    }
}

/* False: it is to be given back. */
static bool keep(struct huge *huge, uint64_t now)
{
    size_t most = keep_most();

    huge->mapped_bytes = huge_extent(huge);
    huge->spare_bytes = 0;
    huge->since = now;
    if (decay_milliseconds() == DECAY_AT_ONCE || huge->mapped_bytes > most)
        return false;
    make_room(huge->mapped_bytes, most);
    if (harden_is_on()) {
        /* Addresses without memory; should the kernel refuse, it goes back as a whole. */
        if (!page_source_purge(huge->base, huge->mapped_bytes) ||
            !page_source_close(huge->base, huge->mapped_bytes))
            return false;
    } else {
        join_neighbours(huge);
    }
    if (huge_cache_put(huge))
        return true;
    struct huge *oldest = huge_cache_take_oldest(UINT64_MAX); /* there was no slot */
    if (oldest != NULL)
        give_back(oldest);
    return huge_cache_put(huge);
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

struct huge *huge_at(void *owner, const void *address)
{
    struct huge *huge = owner;

    if (__builtin_expect(huge->block != address, 0))
        block_is_wrong(address, "inside a block");
    return huge;
}

/* It has so many bytes for its block now, in a mapping of so many. */
static void *resized(struct huge *huge, size_t total, size_t extent)
{
    add_and_note(&huge_bytes_live, &huge_bytes_most, total - huge->mapped_bytes);
    huge->mapped_bytes = total;
    huge->spare_bytes = extent - total;
    return huge->block;
}

/* huge_resize with CIA_HARDEN=1: what is closed on both sides stays so. */
static void *resize_closed(struct huge *huge, size_t new_bytes)
{
    size_t offset = (size_t)(huge->block - huge->base);
    size_t before = closed_before(huge);
    size_t total = round_up_to_pages(new_bytes + offset);
    size_t old = huge->mapped_bytes, extent = huge_extent(huge);

    if (total <= old) {
        if (total < old && (!page_source_purge(huge->base + total, old - total) ||
                            !page_source_close(huge->base + total, old - total)))
            return NULL;
    } else if (total + guard_bytes() <= extent) {
        if (!page_source_open(huge->base + old, total - old))
            return NULL;
    } else {
        struct huge moved = {.node = huge->node};

        if (!map_extent(&moved, extent_for(total + guard_bytes()), total, CHUNK_BYTES))
            return NULL;
        moved.block = moved.base + offset;
        if (!page_source_register(moved.block, huge)) {
            page_source_unmap(moved.base, huge_extent(&moved));
            return NULL;
        }
        /* All that is not closed; in this order for the reasons given in huge_resize. */
        page_source_forget(huge->block);
        if (!page_source_move(huge->base + before, old - before, moved.base + before,
                              total - before)) {
            (void)page_source_register(huge->block, huge);
            page_source_forget(moved.block);
            return NULL;
        }
        if (before > 0)
            page_source_unmap(huge->base, before);
        page_source_unmap(huge->base + old, extent - old);
        close_both_sides(&moved);
        huge->base = moved.base;
        huge->block = moved.block;
        extent = huge_extent(&moved);
    }
    return resized(huge, total, extent);
}

void *huge_resize(struct huge *huge, size_t new_bytes)
{
    if (harden_is_on())
        return resize_closed(huge, new_bytes);
    size_t offset = (size_t)(huge->block - huge->base);
    size_t total = round_up_to_pages(new_bytes + offset);
    size_t extent = huge_extent(huge);

    if (total < huge->mapped_bytes) { /* what it had so far may be populated */
        PROBE3(memory_given_back, huge->base + total, extent - total, 1);
        page_source_unmap(huge->base + total, extent - total);
        extent = total;
    } else if (total > extent && page_source_resize(huge->base, extent, total)) {
        extent = total;
    } else if (total > extent) {
        char *base = page_source_map(total, CHUNK_BYTES);

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
        if (!page_source_move(huge->base, extent, base, total)) {
            (void)page_source_register(huge->block, huge); /* the leaf is there: cannot fail */
            page_source_forget(base + offset);
            /* The kernel may have unmapped the new place before it failed, and given it to another
               thread since: leave it alone. It costs addresses, not memory. */
            return NULL;
        }
        huge->base = base;
        huge->block = base + offset;
        extent = total;
    }
    return resized(huge, total, extent);
}

void huge_totals(size_t *bytes, size_t *blocks)
{
    *bytes = atomic_load_explicit(&huge_bytes_live, memory_order_relaxed);
    *blocks = atomic_load_explicit(&huge_blocks_live, memory_order_relaxed);
}

void huge_most(size_t *bytes, size_t *blocks)
{
    *bytes = atomic_load_explicit(&huge_bytes_most, memory_order_relaxed);
    *blocks = atomic_load_explicit(&huge_blocks_most, memory_order_relaxed);
}

uint64_t huge_allocations(void)
{
    return atomic_load_explicit(&huge_made, memory_order_relaxed);
}

struct huge_totals_at huge_totals_at(void)
{
    return (struct huge_totals_at){
        .bytes = (uintptr_t)&huge_bytes_live,
        .blocks = (uintptr_t)&huge_blocks_live,
        .made = (uintptr_t)&huge_made,
    };
}
