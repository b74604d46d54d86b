/*
 * SPDX-License-Identifier: MIT
 *
 * Page runs inside a chunk, by two bitmaps; see chunk.h. Called once a run (16 to 129 pages), not
 * once a block.
 */
#include "cia_malloc/chunk.h"

#include <string.h>

bool chunk_huge_pages;

struct chunk *chunk_create(struct subheap *owner, uint8_t node)
{
    struct chunk *chunk = page_source_map_metadata(sizeof *chunk);

    if (chunk == NULL)
        return NULL;
    chunk->base = page_source_map(CHUNK_BYTES, CHUNK_BYTES);
    if (chunk->base == NULL) {
        page_source_unmap_metadata(chunk, sizeof *chunk);
        return NULL;
    }
    chunk->pages = page_map_provide(chunk->base);
    page_source_bind(chunk->base, CHUNK_BYTES, node);
    if (chunk_huge_pages)
        page_source_prefer_huge_pages(chunk->base, CHUNK_BYTES);
    chunk->kind = OWNER_CHUNK;
    chunk->owner = owner;
    chunk->node = node;
    chunk->longest_free = CHUNK_PAGES;
    for (uint32_t page = 0; chunk->pages != NULL && page < CHUNK_PAGES; page++)
        chunk->pages[page].size_class = CLASS_NONE;
    if (chunk->pages == NULL || !page_source_register(chunk->base, chunk)) {
        page_source_unmap(chunk->base, CHUNK_BYTES);
        page_source_unmap_metadata(chunk, sizeof *chunk);
        return NULL;
    }
    return chunk;
}

void chunk_destroy(struct chunk *chunk)
{
    page_source_forget(chunk->base);
    page_source_unmap(chunk->base, CHUNK_BYTES);
    page_source_unmap_metadata(chunk, sizeof *chunk);
}

/* The bits of word w that belong to pages [first, first + pages). */
static uint64_t range_mask(uint32_t w, uint32_t first, uint32_t pages)
{
    uint32_t low = first > w * 64 ? first - w * 64 : 0;
    uint32_t end = first + pages - w * 64;
    uint64_t mask = ~(uint64_t)0 << low;

    return end >= 64 ? mask : mask & ~(~(uint64_t)0 << end);
}

/* The last page of the range whose bit is set, or -1. */
static int last_set(const uint64_t *bits, uint32_t first, uint32_t pages)
{
    for (uint32_t w = (first + pages - 1) / 64 + 1; w-- > first / 64;) {
        uint64_t found = bits[w] & range_mask(w, first, pages);

        if (found != 0)
            return (int)(w * 64 + 63 - (uint32_t)__builtin_clzll(found));
    }
    return -1;
}

static uint32_t count_set(const uint64_t *bits, uint32_t first, uint32_t pages)
{
    uint32_t count = 0;

    for (uint32_t w = first / 64; w <= (first + pages - 1) / 64; w++)
        count += (uint32_t)__builtin_popcountll(bits[w] & range_mask(w, first, pages));
    return count;
}

static void set_range(uint64_t *bits, uint32_t first, uint32_t pages, bool value)
{
    for (uint32_t w = first / 64; w <= (first + pages - 1) / 64; w++) {
        if (value)
            bits[w] |= range_mask(w, first, pages);
        else
            bits[w] &= ~range_mask(w, first, pages);
    }
}

/* The first page from the given one on whose bit has the value, or CHUNK_PAGES. */
static uint32_t next_page(const uint64_t *map, uint32_t from, bool value)
{
    for (uint32_t w = from / 64; w < CHUNK_WORDS; w++) {
        uint64_t bits = value ? map[w] : ~map[w];

        if (w == from / 64)
            bits &= ~(uint64_t)0 << (from % 64);
        if (bits != 0)
            return w * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return CHUNK_PAGES;
}

int chunk_take_pages(struct chunk *chunk, uint32_t pages, uint32_t modulus, uint32_t residue,
                     bool *clean)
{
    uint32_t base_number = (uint32_t)((uintptr_t)chunk->base >> PAGE_SHIFT);
    uint32_t first = (residue - base_number) & (modulus - 1);

    if (pages > chunk->longest_free)
        return -1;
    while (first + pages <= CHUNK_PAGES) {
        int obstacle = last_set(chunk->used, first, pages);

        if (obstacle < 0) {
            uint32_t dirty = count_set(chunk->touched, first, pages);

            *clean = dirty == 0;
            set_range(chunk->used, first, pages, true);
            chunk->used_pages += pages;
            chunk->dirty_pages -= dirty;
            return (int)first;
        }
        /* The next free page behind the obstacle, and from there the right residue. */
        uint32_t next = next_page(chunk->used, (uint32_t)obstacle + 1, false);
        first += (next - first + modulus - 1) & ~(modulus - 1);
    }
    /* A longer run could only have been missed for its residue. */
    if (chunk->longest_free > pages + modulus - 2)
        chunk->longest_free = pages + modulus - 2;
    return -1;
}

void chunk_return_pages(struct chunk *chunk, uint32_t first, uint32_t pages)
{
    for (uint32_t page = first; page < first + pages; page++)
        chunk->pages[page] = (struct page_info){.size_class = CLASS_NONE};
    set_range(chunk->used, first, pages, false);
    chunk->used_pages -= pages;
    chunk->dirty_pages += count_set(chunk->touched, first, pages);
    chunk->longest_free = CHUNK_PAGES; /* unknown: the run may have joined others */
}

uint32_t chunk_touched_pages(const struct chunk *chunk, uint32_t first, uint32_t pages)
{
    return count_set(chunk->touched, first, pages);
}

void chunk_touch(struct chunk *chunk, uint32_t first, uint32_t pages)
{
    set_range(chunk->touched, first, pages, true);
}

void chunk_populate(struct chunk *chunk, uint32_t first, uint32_t pages, uint32_t ahead)
{
    uint32_t end = first + pages;

    while ((first = next_page(chunk->touched, first, false)) < end) {
        uint32_t stop = next_page(chunk->touched, first, true);

        if (stop > end + ahead)
            stop = end + ahead;
        page_source_populate(chunk->base + (size_t)first * PAGE_BYTES,
                             (size_t)(stop - first) * PAGE_BYTES);
        set_range(chunk->touched, first, stop - first, true);
    }
}

uint32_t chunk_purge(struct chunk *chunk, uint32_t most)
{
    uint64_t dirty[CHUNK_WORDS];
    uint32_t purged = 0;
    uint32_t first = 0;

    for (uint32_t w = 0; w < CHUNK_WORDS; w++)
        dirty[w] = chunk->touched[w] & ~chunk->used[w];
    while (purged < most && (first = next_page(dirty, first, true)) < CHUNK_PAGES) {
        uint32_t end = next_page(dirty, first, false);

        if (page_source_purge(chunk->base + (size_t)first * PAGE_BYTES,
                              (size_t)(end - first) * PAGE_BYTES)) {
            set_range(chunk->touched, first, end - first, false);
            purged += end - first;
        }
        first = end;
    }
    chunk->dirty_pages -= purged;
    return purged;
}
