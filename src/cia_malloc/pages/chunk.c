/*
 * SPDX-License-Identifier: MIT
 *
 * Page runs inside a chunk, by bitmaps; see chunk.h. Called once a run (16 to 129 pages), not
 * once a block.
 */
#include "cia_malloc/pages/chunk.h"

#include "cia_malloc/pages/allocator_mode.h"

static_assert((size_t)HALF_PAGES * PAGE_BYTES == 2 << 20, "a huge page of x86-64");

/* The marks stand behind the chunk's own words. */
static size_t metadata_bytes(void)
{
    size_t marks = CHUNK_BYTES / LINE_BYTES * sizeof(uint32_t);

    return sizeof(struct chunk) + (harden_is_on() ? marks : 0);
}

/* With CIA_HARDEN=1: who writes on and on behind a block, or before it, ends where the chunk does,
   and not in the tables of the allocator. Both pages count as taken, and belong to no run. */
static void protect_ends(struct chunk *chunk)
{
    uint32_t last = chunk->mapped_pages - 1u;

    chunk->used[0] |= 1;
    chunk->used[last / 64] |= (uint64_t)1 << last % 64;
    (void)page_source_protect(chunk->base, PAGE_BYTES, PROT_NONE);
    (void)page_source_protect(chunk->base + (size_t)last * PAGE_BYTES, PAGE_BYTES, PROT_NONE);
}

struct chunk *chunk_create(uint32_t pages, uint8_t node, bool huge)
{
    size_t bytes = (size_t)pages * PAGE_BYTES;
    bool may_be_kept = pages == CHUNK_PAGES && !huge && !harden_is_on();
    char *kept = may_be_kept ? chunk_addresses_kept(node) : NULL;
    /* First what is most often refused. */
    char *base = kept != NULL ? kept : page_source_map(bytes, CHUNK_BYTES);
    struct page_info *infos = base != NULL ? page_map_provide(base) : NULL;
    struct chunk *chunk = infos != NULL ? page_source_map_metadata(metadata_bytes()) : NULL;

    if (chunk == NULL) {
        if (base != NULL)
            page_source_unmap(base, bytes);
        return NULL;
    }
    if (kept != NULL) {
        page_bits_set(chunk->touched, 0, pages, true);
        chunk->dirty_pages = pages;
    }
    chunk->mapped_pages = (uint16_t)pages;
    chunk->base = base;
    chunk->pages = infos;
    chunk->node = node;
    chunk->longest_free = pages;
    page_source_bind(base, bytes, node);
    page_source_advise(base, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    chunk->huge_halves = huge ? (1 << CHUNK_HALVES) - 1 : 0;
    if (pages < CHUNK_PAGES)
        page_bits_set(chunk->used, pages, CHUNK_PAGES - pages, true);
    if (harden_is_on()) {
        chunk->marks = (void *)(chunk + 1);
        protect_ends(chunk);
    }
    /* Memory behind the chunk's own may be anybody's, a huge block's too. */
    for (uint32_t page = 0; page < pages; page++)
        infos[page].size_class = CLASS_NONE;
    page_map_set_chunk(base, chunk);
    return chunk;
}

void chunk_destroy(struct chunk *chunk)
{
    size_t bytes = (size_t)chunk->mapped_pages * PAGE_BYTES;

    page_map_set_chunk(chunk->base, NULL);
    page_source_unmap(chunk->base, bytes);
    page_source_unmap_metadata(chunk, metadata_bytes());
}

bool chunk_take_pages(struct chunk *chunk, const struct page_request *request, bool preferred,
                      struct page_run *run)
{
    uint32_t pages = request->pages, modulus = request->modulus;
    uint64_t avoid = preferred ? request->avoid : 0;
    uint32_t base_number = (uint32_t)((uintptr_t)chunk->base >> PAGE_SHIFT);
    uint32_t first = (request->residue - base_number) & (modulus - 1);

    if (pages > chunk->longest_free)
        return false;
    while (first + pages <= CHUNK_PAGES) {
        uint32_t obstacle = page_bits_next(chunk->used, first, true);
        bool is_free = obstacle >= first + pages;

        if (is_free && (avoid >> ((base_number + first) % 64) & 1) == 0) {
            bool clean = page_bits_count(chunk->touched, first, pages) == 0;

            *run = (struct page_run){.chunk = chunk, .page = first, .clean = clean};
            page_bits_set(chunk->used, first, pages, true);
            if (!request->populated_later)
                page_bits_set(chunk->touched, first, pages, true);
            chunk->used_pages += pages;
            chunk->dirty_pages = chunk_count_dirty(chunk, 0, CHUNK_PAGES);
            return true;
        }
        /* The next free page behind the obstacle, and from there the right residue. */
        uint32_t next = is_free ? first + 1 : page_bits_next(chunk->used, obstacle, false);
        first += (next - first + modulus - 1) & ~(modulus - 1);
    }
    /* A longer run could only have been missed for its residue, or to avoid its first pages. */
    uint32_t in_vain = (avoid != 0 ? 64 : modulus) - 1;
    if (chunk->longest_free > pages + in_vain - 1)
        chunk->longest_free = pages + in_vain - 1;
    return false;
}

void chunk_return_pages(struct chunk *chunk, uint32_t first, uint32_t pages)
{
    for (uint32_t page = first; page < first + pages; page++)
        chunk->pages[page] = (struct page_info){.size_class = CLASS_NONE};
    for (uint32_t line = 0; chunk->marks != NULL && line < pages * LINES_PER_PAGE; line++)
        atomic_store_explicit(&chunk->marks[first * LINES_PER_PAGE + line], 0,
                              memory_order_relaxed);
    page_bits_set(chunk->used, first, pages, false);
    chunk->used_pages -= pages;
    /*
     * The kernel fills all of a huge page in at the first touch. While a half is being filled with
     * runs, that is no more than they will touch. Once a run of the half is returned, every page of
     * it counts as filled in, so that the free ones go back in their time.
     */
    for (uint32_t half = first / HALF_PAGES; half <= (first + pages - 1) / HALF_PAGES; half++) {
        if ((chunk->huge_halves & 1u << half) != 0 &&
            page_bits_count(chunk->touched, half * HALF_PAGES, HALF_PAGES) > 0)
            page_bits_set(chunk->filled, half * HALF_PAGES, HALF_PAGES, true);
    }
    chunk->dirty_pages = chunk_count_dirty(chunk, 0, CHUNK_PAGES);
    chunk->longest_free = CHUNK_PAGES; /* unknown: the run may be beside other free pages */
}

void chunk_populate(struct chunk *chunk, uint32_t first, uint32_t pages, uint32_t ahead)
{
    struct pending_pages *pending = chunk->pending;
    uint32_t end = first + pages;

    while ((first = page_bits_next(chunk->touched, first, false)) < end) {
        uint32_t stop = page_bits_next(chunk->touched, first, true);
        char *address = chunk->base + (size_t)first * PAGE_BYTES;

        if (stop > end + ahead)
            stop = end + ahead;
        size_t bytes = (size_t)(stop - first) * PAGE_BYTES;
        uint32_t last = pending->count - 1;
        page_bits_set(chunk->touched, first, stop - first, true);
        if (pending->count > 0 &&
            pending->range[last].address + pending->range[last].bytes == address) {
            pending->range[last].bytes += bytes;
        } else if (pending->count < sizeof pending->range / sizeof *pending->range) {
            pending->range[pending->count].address = address;
            pending->range[pending->count++].bytes = bytes;
        } else {
            page_source_populate(address, bytes); /* a load has one or two ranges */
        }
    }
}
