/*
 * SPDX-License-Identifier: MIT
 *
 * See large.h.
 */
#include "cia_malloc/large/large.h"

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

    bool taken = page_heap_take(&heap->pages, &request, &run) ||
                 (subheap_gather_pages(heap) && page_heap_take(&heap->pages, &request, &run));
    if (!taken && alignment <= LINE_BYTES) {
        /* A hole that a block of this length left may be a page too short for this colour. */
        request = (struct page_request){.pages = pages_of(bytes, 0), .modulus = 1};
        first_line %= (uint32_t)(((size_t)request.pages * PAGE_BYTES - bytes) / LINE_BYTES + 1);
        taken = page_heap_take(&heap->pages, &request, &run);
    }
    if (!taken)
        return NULL;
    struct chunk *chunk = run.chunk;
    uint32_t page = run.page, pages = request.pages;
    char *base = chunk->base + (size_t)page * PAGE_BYTES + (size_t)first_line * LINE_BYTES;
    *zeroed = run.clean;

    struct page_info info = {
        .size_class = CLASS_LARGE,
        .start = magazine_low_address(base),
    };
    for (uint32_t i = 0; i < pages; i++)
        chunk->pages[page + i] = info;
    chunk->spans[page] = (struct span){
        .base = base,
        .chunk = chunk,
        .size_class = CLASS_LARGE,
        .run_page = (uint16_t)page,
        .run_pages = (uint16_t)pages,
    };
    heap->large_live++;
    heap->large_allocations++;
    heap->large_pages_live += pages;
    return base;
}

void *large_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment, bool *zeroed)
{
    size_t pages = round_up_to_pages(bytes) / PAGE_BYTES;

    if (pages > LARGE_GREATEST_PAGES || alignment > (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES ||
        (bytes > SIZE_CLASS_LARGEST && huge_guarded_is_wanted())) {
        uint32_t colour = next_colour(heap, pages);

        subheap_unlock(heap);
        return huge_allocate(bytes, alignment, colour, heap->pages.node, zeroed);
    }
    void *block = run_allocate(heap, bytes, alignment, zeroed);
    subheap_unlock(heap);
    return block;
}
