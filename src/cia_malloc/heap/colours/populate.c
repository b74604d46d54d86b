/*
 * SPDX-License-Identifier: MIT
 *
 * See populate.h.
 */
#include "cia_malloc/heap/colours/populate.h"

#include "cia_malloc/pages/purge.h"

#include <string.h>

enum {
    BATCH_PAGES = (64 << 10) / PAGE_BYTES,
    /* One part of so many of what is live in the class may be ahead of it. While a class grows
       steadily, 16 MiB of blocks of 64 to 9000 B come in 0.84 to 0.91 of the time that a fault a
       page takes. */
    AHEAD_PART = 8,
};

/* Pages of the chunk. */
struct range {
    uint32_t first, pages;
};

/* The pages of count blocks of the span, from the one with that number on. */
static struct range pages_of(const struct span *span, uint32_t number, uint32_t count)
{
    uint32_t bytes = (uint32_t)size_class_bytes(span->size_class);
    uint32_t begin = (uint32_t)(span->base - span->chunk->base) + number * bytes;
    uint32_t first = begin >> PAGE_SHIFT;
    uint32_t last = (begin + count * bytes - 1) >> PAGE_SHIFT;

    return (struct range){first, last - first + 1};
}

/* By number what is by bit: see span_bit_of_block. */
static uint64_t numbers_of(const struct span *span, uint64_t bits)
{
    const struct class_layout *layout = &class_layouts[span->size_class];

    return (bits >> span->phase | bits << (layout->span_blocks - span->phase) % 64) &
           class_layout_all_bits(layout);
}

/* How many pages to populate behind the range. */
static uint32_t pages_ahead(const struct span *span, struct range range, uint64_t live_bytes)
{
    uint64_t ahead = live_bytes / AHEAD_PART / PAGE_BYTES;
    uint32_t room = (uint32_t)span->run_page + span->run_pages - (range.first + range.pages);
    uint32_t most = range.pages < BATCH_PAGES ? BATCH_PAGES - range.pages : 0;

    most = room < most ? room : most;
    return ahead < most ? (uint32_t)ahead : most;
}

void populate_blocks(const struct span *span, uint64_t bits, uint64_t live_bytes)
{
    uint64_t numbers = numbers_of(span, bits);

    /* Stretches of blocks side by side: one, or two where the order wraps. */
    while (numbers != 0) {
        bool whole = populates_whole(span->size_class);
        uint32_t number = (uint32_t)__builtin_ctzll(numbers);
        uint64_t beyond = ~(numbers >> number);
        uint32_t count = !whole ? 1 : beyond != 0 ? (uint32_t)__builtin_ctzll(beyond) : 64;
        struct range range = pages_of(span, number, count);

        numbers &= ~(~(uint64_t)0 >> (64 - count) << number);
        if (__builtin_expect(!whole, 0)) {
            /* Of a long block the first page and the last, which begin and end other blocks too. */
            chunk_populate(span->chunk, range.first, 1, 0);
            chunk_populate(span->chunk, range.first + range.pages - 1, 1, 0);
            page_bits_set(span->chunk->touched, range.first, range.pages, true);
        } else {
            chunk_populate(span->chunk, range.first, range.pages,
                           numbers == 0 ? pages_ahead(span, range, live_bytes) : 0);
        }
    }
}

void populate_rest(struct chunk *chunk, uint32_t page, uint32_t pages)
{
    const struct class_layout *layout = &class_layouts[chunk->spans[page].size_class];

    if (page_bits_count(chunk->touched, page, pages) == pages)
        return;
    /* First what is untouched, of all: then nothing that is populated makes a difference. */
    for (uint32_t i = 0; i < layout->run_spans; i++) {
        struct span *span = &chunk->spans[class_layout_span(layout, page, i)];

        for (uint32_t number = 0; number < layout->span_blocks; number++) {
            struct range range = pages_of(span, number, 1);

            if (page_bits_count(chunk->touched, range.first, range.pages) == 0)
                span->untouched |= (uint64_t)1 << span_bit_of_block(layout, span->phase, number);
        }
    }
    for (uint32_t i = 0; i < layout->run_spans; i++) {
        const struct span *span = &chunk->spans[class_layout_span(layout, page, i)];
        uint64_t touched = numbers_of(span, class_layout_all_bits(layout) & ~span->untouched);

        for (; touched != 0; touched &= touched - 1) {
            struct range range = pages_of(span, (uint32_t)__builtin_ctzll(touched), 1);

            chunk_populate(chunk, range.first, range.pages, 0);
        }
    }
}

/* Zeroes what the free block has on pages that stay, if it is on any that went; and says so. stays:
   by page of the run. */
static bool zero_rest(struct span *span, uint32_t number, const bool *stays)
{
    const struct class_layout *layout = &class_layouts[span->size_class];
    struct range range = pages_of(span, number, 1);
    size_t bytes = size_class_bytes(span->size_class);
    char *block = span->base + number * bytes;

    if (memchr(&stays[range.first - span->run_page], false, range.pages) == NULL)
        return false;
    for (uint32_t page = range.first; page < range.first + range.pages; page++) {
        char *from = span->chunk->base + (size_t)page * PAGE_BYTES, *end = from + PAGE_BYTES;

        if (!stays[page - span->run_page])
            continue;
        from = from < block ? block : from;
        end = end > block + bytes ? block + bytes : end;
        memset(from, 0, (size_t)(end - from));
    }
    span->untouched |= (uint64_t)1 << span_bit_of_block(layout, span->phase, number);
    return true;
}

uint32_t populate_give_back(struct chunk *chunk, uint32_t page, uint64_t *untouched)
{
    const struct class_layout *layout = &class_layouts[chunk->spans[page].size_class];
    uint32_t pages = chunk->spans[page].run_pages, went = 0;
    bool stays[CHUNK_PAGES] = {false};

    if (chunk->marks != NULL)
        return 0;
    for (uint32_t i = 0; i < layout->run_spans; i++) {
        const struct span *span = &chunk->spans[class_layout_span(layout, page, i)];
        uint64_t live = numbers_of(span, class_layout_all_bits(layout) & ~span->free);

        for (; live != 0; live &= live - 1) {
            struct range range = pages_of(span, (uint32_t)__builtin_ctzll(live), 1);

            memset(&stays[range.first - page], true, range.pages);
        }
    }
    for (uint32_t from = 0, end; from < pages; from = end + 1) {
        for (end = from; end < pages && !stays[end]; end++)
            ;
        if (end > from && !purge_in_run(chunk, page + from, end - from, &went))
            memset(&stays[from], true, end - from);
    }
    for (uint32_t i = 0; went > 0 && i < layout->run_spans; i++) {
        struct span *span = &chunk->spans[class_layout_span(layout, page, i)];
        uint64_t used = numbers_of(span, span->free & ~span->untouched);

        for (; used != 0; used &= used - 1)
            *untouched += zero_rest(span, (uint32_t)__builtin_ctzll(used), stays);
    }
    return went;
}
