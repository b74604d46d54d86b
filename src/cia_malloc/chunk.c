/*
 * SPDX-License-Identifier: MIT
 *
 * Page runs inside a chunk, by two bitmaps; see chunk.h. Called once a run (16 to 129 pages), not
 * once a block.
 */
#include "cia_malloc/chunk.h"

#include "base/probes.h"
#include "cia_malloc/harden.h"

#include <string.h>

static_assert((size_t)HALF_PAGES * PAGE_BYTES == 2 << 20, "a huge page of x86-64");

enum {
    /* From so many pages on a half is nearly full. Runs begin at pages of certain numbers: a half
       that has room for no more of them has 80 to 95 % of its pages in use. */
    NEARLY_FULL_PAGES = HALF_PAGES * 13 / 16,
};

enum { MARKS_BYTES = CHUNK_BYTES / LINE_BYTES * sizeof(uint32_t) };

static void give_back(struct chunk *chunk)
{
    if (chunk->base != NULL)
        page_source_unmap(chunk->base, CHUNK_BYTES);
    if (chunk->marks != NULL)
        page_source_unmap(chunk->marks, MARKS_BYTES);
    page_source_unmap_metadata(chunk, sizeof *chunk);
}

/* With CIA_HARDEN=1: who writes on and on behind a block, or before it, ends where the chunk does,
   and not in the tables of the allocator. Both pages count as taken, and belong to no run. */
static void close_ends(struct chunk *chunk)
{
    chunk->used[0] |= 1;
    chunk->used[CHUNK_WORDS - 1] |= (uint64_t)1 << 63;
    (void)page_source_close(chunk->base, PAGE_BYTES);
    (void)page_source_close(chunk->base + CHUNK_BYTES - PAGE_BYTES, PAGE_BYTES);
}

struct chunk *chunk_create(struct subheap *owner, uint8_t node, bool huge)
{
    struct chunk *chunk = page_source_map_metadata(sizeof *chunk);

    if (chunk == NULL)
        return NULL;
    chunk->base = page_source_map(CHUNK_BYTES, CHUNK_BYTES);
    if (harden_is_on())
        chunk->marks = page_source_map(MARKS_BYTES, PAGE_BYTES);
    if (chunk->base == NULL || (harden_is_on() && chunk->marks == NULL)) {
        give_back(chunk);
        return NULL;
    }
    chunk->pages = page_map_provide(chunk->base);
    page_source_bind(chunk->base, CHUNK_BYTES, node);
    if (huge) {
        page_source_prefer_huge_pages(chunk->base, CHUNK_BYTES);
        chunk->huge_halves = (1 << CHUNK_HALVES) - 1;
    } else {
        page_source_avoid_huge_pages(chunk->base, CHUNK_BYTES);
    }
    chunk->kind = OWNER_CHUNK;
    chunk->owner = owner;
    chunk->node = node;
    chunk->longest_free = CHUNK_PAGES;
    for (uint32_t page = 0; chunk->pages != NULL && page < CHUNK_PAGES; page++)
        chunk->pages[page].size_class = CLASS_NONE;
    if (chunk->pages == NULL || !page_source_register(chunk->base, chunk)) {
        give_back(chunk);
        return NULL;
    }
    if (chunk->marks != NULL)
        close_ends(chunk);
    return chunk;
}

void chunk_destroy(struct chunk *chunk)
{
    PROBE3(memory_given_back, chunk->base, CHUNK_BYTES, 1);
    page_source_forget(chunk->base);
    give_back(chunk);
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

static bool is_set(const uint64_t *bits, uint32_t page)
{
    return (bits[page / 64] >> page % 64 & 1) != 0;
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

/* Takes free pages, of which so many are dirty. */
static void take(struct chunk *chunk, uint32_t first, uint32_t pages, uint32_t dirty)
{
    set_range(chunk->used, first, pages, true);
    chunk->used_pages += pages;
    chunk->dirty_pages -= dirty;
}

bool chunk_take_at(struct chunk *chunk, uint32_t first, uint32_t pages)
{
    if (first + pages > CHUNK_PAGES || last_set(chunk->used, first, pages) >= 0)
        return false;
    take(chunk, first, pages, count_set(chunk->touched, first, pages));
    return true;
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
            take(chunk, first, pages, dirty);
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
    for (uint32_t line = 0; chunk->marks != NULL && line < pages * LINES_PER_PAGE; line++)
        atomic_store_explicit(&chunk->marks[first * LINES_PER_PAGE + line], 0,
                              memory_order_relaxed);
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

static char *half_address(const struct chunk *chunk, uint32_t half)
{
    return chunk->base + (size_t)half * HALF_PAGES * PAGE_BYTES;
}

static uint32_t used_in_half(const struct chunk *chunk, uint32_t half)
{
    return count_set(chunk->used, half * HALF_PAGES, HALF_PAGES);
}

bool chunk_join_full_halves(struct chunk *chunk)
{
    const size_t bytes = (size_t)HALF_PAGES * PAGE_BYTES;
    bool joined = false;

    for (uint32_t half = 0; half < CHUNK_HALVES; half++) {
        char *address = half_address(chunk, half);

        if ((chunk->huge_halves >> half & 1) != 0 ||
            used_in_half(chunk, half) < NEARLY_FULL_PAGES ||
            page_source_populated_pages(address, HALF_PAGES) < NEARLY_FULL_PAGES)
            continue;
        chunk->huge_halves |= (uint8_t)(1u << half);
        page_source_prefer_huge_pages(address, bytes);
        page_source_join(address, bytes);
        joined = true;
    }
    return joined;
}

/* Gives back the dirty pages of [first, end), in which no page is used; returns how many. */
static uint32_t purge_range(struct chunk *chunk, uint32_t first, uint32_t end)
{
    uint32_t dirty = count_set(chunk->touched, first, end - first);

    if (!page_source_purge(chunk->base + (size_t)first * PAGE_BYTES,
                           (size_t)(end - first) * PAGE_BYTES))
        return 0;
    PROBE3(memory_given_back, chunk->base + (size_t)first * PAGE_BYTES,
           (size_t)(end - first) * PAGE_BYTES, 0);
    set_range(chunk->touched, first, end - first, false);
    chunk->dirty_pages -= dirty;
    return dirty;
}

static uint32_t purge_half(struct chunk *chunk, const uint64_t dirty[CHUNK_WORDS], uint32_t half,
                           uint32_t most, enum chunk_split split)
{
    uint32_t first = half * HALF_PAGES, end = first + HALF_PAGES;
    uint32_t purged = 0;

    if ((chunk->huge_halves >> half & 1) != 0) {
        uint32_t used = used_in_half(chunk, half);

        if (used == 0)
            return purge_range(chunk, first, end); /* in one piece, as it came */
        if (used <= HALF_PAGES / 2) {
            /* The kernel would join again what is split, and fill in what was given back. */
            page_source_avoid_huge_pages(half_address(chunk, half),
                                         (size_t)HALF_PAGES * PAGE_BYTES);
            chunk->huge_halves &= (uint8_t) ~(1u << half);
        } else if (split == SPLIT_IF_HALF_FREE) {
            return 0;
        }
    }
    /* From the end: runs are taken from the beginning. */
    for (int last; purged < most && (last = last_set(dirty, first, end - first)) >= 0;) {
        uint32_t begin = (uint32_t)last;

        while (begin > first && (uint32_t)last + 1 - begin < most - purged &&
               is_set(dirty, begin - 1))
            begin--;
        purged += purge_range(chunk, begin, (uint32_t)last + 1);
        end = begin;
        if (end == first)
            break;
    }
    return purged;
}

uint32_t chunk_purge(struct chunk *chunk, uint32_t most, enum chunk_split split)
{
    uint64_t dirty[CHUNK_WORDS];
    uint32_t purged = 0;

    for (uint32_t w = 0; w < CHUNK_WORDS; w++)
        dirty[w] = chunk->touched[w] & ~chunk->used[w];
    for (uint32_t half = 0; half < CHUNK_HALVES && purged < most; half++) {
        if (count_set(dirty, half * HALF_PAGES, HALF_PAGES) > 0)
            purged += purge_half(chunk, dirty, half, most - purged, split);
    }
    return purged;
}
