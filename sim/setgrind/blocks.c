/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See blocks.h.
 */
#include "blocks.h"

enum {
    PAGE_SHIFT = 12,
    PAGE_SIZE_BYTES = 1 << PAGE_SHIFT,
    GRAIN = 8,
    GRAINS = PAGE_SIZE_BYTES / GRAIN,
    LEVEL_BITS = 12, /* three levels: 12 bits each for the 36 of a page's number */
    LEVEL_SIZE = 1 << LEVEL_BITS,
};

struct page {
    UInt whole; /* of all its bytes, unless there is a table */
    UInt *grain;
};

static struct page **root[LEVEL_SIZE];

static struct block *blocks; /* by number; 0 is unused */
static UInt blocks_used = 1, blocks_room;
static UInt free_number; /* the first of the free numbers, chained by their `window` */

/* The page that was looked up last, for the next visit is often to the same. */
static Addr recent_page = ~(Addr)0;
static struct page *recent;

static struct page *page_at(Addr address, Bool make)
{
    Addr number = address >> PAGE_SHIFT;
    struct page ***middle = &root[number >> (2 * LEVEL_BITS) & (LEVEL_SIZE - 1)];
    struct page **leaf;

    if (*middle == NULL) {
        if (!make)
            return NULL;
        *middle = VG_(calloc)("setgrind.pages", LEVEL_SIZE, sizeof **middle);
    }
    leaf = &(*middle)[number >> LEVEL_BITS & (LEVEL_SIZE - 1)];
    if (*leaf == NULL) {
        if (!make)
            return NULL;
        *leaf = VG_(calloc)("setgrind.pages", LEVEL_SIZE, sizeof **leaf);
    }
    return &(*leaf)[number & (LEVEL_SIZE - 1)];
}

UInt blocks_number_at(Addr address)
{
    if (address >> PAGE_SHIFT != recent_page) {
        struct page *page = page_at(address, False);
        if (page == NULL)
            return 0;
        recent = page;
        recent_page = address >> PAGE_SHIFT;
    }
    return recent->grain == NULL ? recent->whole : recent->grain[address % PAGE_SIZE_BYTES / GRAIN];
}

struct block *blocks_by_number(UInt number)
{
    return &blocks[number];
}

static void retire(UInt number);

/* A block whose end was not seen lies where another one appears. */
static void make_way(UInt old, UInt number)
{
    if (old != 0 && number != 0 && old != number)
        retire(old);
}

static void cover_page(struct page *page, UInt number)
{
    if (page->grain == NULL) {
        make_way(page->whole, number);
    } else {
        for (UInt i = 0; i < GRAINS; i++)
            make_way(page->grain[i], number);
        VG_(free)(page->grain);
        page->grain = NULL;
    }
    page->whole = number;
}

static void cover_part(struct page *page, UInt first, UInt last, UInt number)
{
    if (page->grain == NULL) {
        page->grain = VG_(malloc)("setgrind.grains", GRAINS * sizeof *page->grain);
        for (UInt i = 0; i < GRAINS; i++)
            page->grain[i] = page->whole;
        page->whole = 0;
    }
    for (UInt i = first; i <= last; i++) {
        make_way(page->grain[i], number);
        page->grain[i] = number;
    }
}

/* All bytes of the range are of this block; 0: of none. */
static void cover(Addr start, SizeT size, UInt number)
{
    Addr end = start + size;

    while (start < end) {
        Addr page_start = start & ~(Addr)(PAGE_SIZE_BYTES - 1);
        Addr page_end = page_start + PAGE_SIZE_BYTES;
        Addr stop = end < page_end ? end : page_end;
        struct page *page = page_at(start, True);

        if (start == page_start && stop == page_end)
            cover_page(page, number);
        else
            cover_part(page, (UInt)(start - page_start) / GRAIN,
                       (UInt)(stop - 1 - page_start) / GRAIN, number);
        start = stop;
    }
}

static void retire(UInt number)
{
    struct block *block = &blocks[number];

    cover(block->start, block->size, 0);
    tallies_freed(&block->origin->tally);
    tallies_freed(block->of_size);
    block->window = free_number;
    free_number = number;
}

static UInt new_number(void)
{
    UInt number = free_number;

    if (number != 0) {
        free_number = blocks[number].window;
        return number;
    }
    if (blocks_used >= blocks_room) {
        blocks_room = blocks_room == 0 ? 1024 : 2 * blocks_room;
        blocks = VG_(realloc)("setgrind.blocks", blocks, blocks_room * sizeof *blocks);
    }
    return blocks_used++;
}

void blocks_appeared(Addr start, SizeT size, struct origin *origin)
{
    struct tally *of_size = tallies_of_size(size);
    UInt number = new_number();

    tallies_allocated(&origin->tally, size);
    tallies_allocated(of_size, size);
    blocks[number] = (struct block){
        .start = start,
        .size = size == 0 ? 1 : size,
        .origin = origin,
        .of_size = of_size,
    };
    cover(start, blocks[number].size, number);
}

void blocks_gone(Addr start)
{
    UInt number = start == 0 ? 0 : blocks_number_at(start);

    if (number != 0 && blocks[number].start == start)
        retire(number);
}
