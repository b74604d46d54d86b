/*
 * SPDX-License-Identifier: MIT
 *
 * See heap.h.
 */
#include "persist/heap.h"

#include <errno.h>
#include <stdlib.h>

static struct page_entry *table(const struct heap *heap)
{
    return (struct page_entry *)(void *)(heap->view + TABLE_OFFSET);
}

static uint64_t pages_of(uint64_t what)
{
    return what & LARGE_BLOCK ? (what & ~LARGE_BLOCK) >> 8 : what; /* a span of n lines has n */
}

static unsigned blocks_of(uint64_t what)
{
    return what & LARGE_BLOCK ? 1 : class_blocks(what);
}

static uint64_t all_bits(uint64_t what)
{
    return ~UINT64_C(0) >> (64 - blocks_of(what));
}

/* Whether an entry of the table can be one of a span or block that begins at this page. */
static bool entry_is_sound(const struct heap *heap, uint64_t page, const struct page_entry *entry)
{
    bool large = entry->what & LARGE_BLOCK;

    if (!large && !class_exists(entry->what))
        return false;
    return pages_of(entry->what) >= 1 && pages_of(entry->what) <= heap->pages - page &&
           (!large || (entry->what & 0xff) < PERSIST_LINE) &&
           (entry->taken & ~all_bits(entry->what)) == 0;
}

/* The list of spans with room: at the head, whence blocks come, or behind it. */
static void list_add(struct heap *heap, uint32_t first)
{
    unsigned class = class_of_lines(heap->page[first].what);
    uint32_t head = heap->of_class[class].room;
    struct heap_page *page = &heap->page[first];

    page->previous = head;
    page->next = NO_PAGE;
    if (head == NO_PAGE) {
        heap->of_class[class].room = first;
        return;
    }
    page->next = heap->page[head].next;
    if (page->next != NO_PAGE)
        heap->page[page->next].previous = first;
    heap->page[head].next = first;
}

static void list_remove(struct heap *heap, uint32_t first)
{
    unsigned class = class_of_lines(heap->page[first].what);
    struct heap_page *page = &heap->page[first];

    if (page->next != NO_PAGE)
        heap->page[page->next].previous = page->previous;
    if (page->previous != NO_PAGE)
        heap->page[page->previous].next = page->next;
    else
        heap->of_class[class].room = page->next;
}

static bool has_room(const struct heap_page *page)
{
    return !(page->what & LARGE_BLOCK) && page->taken != all_bits(page->what);
}

/* Makes pages a span or a large block, of which these blocks are taken. */
static void occupy(struct heap *heap, uint32_t first, uint64_t what, uint64_t taken)
{
    for (uint64_t i = 0; i < pages_of(what); i++)
        heap->page[first + i].first = first;
    heap->page[first].what = what;
    heap->page[first].taken = taken;
    heap->page[first].pending = 0;
    if (has_room(&heap->page[first]))
        list_add(heap, first);
}

int heap_start(struct heap *heap, uint8_t *view, uint64_t pages)
{
    *heap = (struct heap){.view = view,
                          .pages_offset = format_pages_offset(pages),
                          .pages = pages,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
    heap->page = calloc(pages, sizeof *heap->page);
    if (heap->page == NULL)
        return ENOMEM;
    for (unsigned class = 0; class < CLASSES; class ++) {
        heap->of_class[class].room = NO_PAGE;
        /* Classes begin in different sets. */
        heap->of_class[class].block = class * 5 % class_blocks(class_lines[class]);
    }
    for (uint64_t page = 0; page < pages; page++)
        heap->page[page].first = NO_PAGE;
    for (uint64_t page = 0; page < pages;) {
        const struct page_entry *entry = &table(heap)[page];

        if (entry->taken == 0) {
            page++;
            continue;
        }
        if (!entry_is_sound(heap, page, entry)) {
            heap_end(heap);
            return EBADMSG;
        }
        occupy(heap, (uint32_t)page, entry->what, entry->taken);
        page += pages_of(entry->what);
    }
    return 0;
}

void heap_end(struct heap *heap)
{
    free(heap->page);
    heap->page = NULL;
}

/* The first of so many free pages side by side, looked for from the cursor on, then from the
   beginning; NO_PAGE. */
static uint32_t find_pages(struct heap *heap, uint64_t count)
{
    for (int round = 0; round < 2; round++) {
        uint64_t page = round == 0 ? heap->cursor : 0, run = 0;

        while (page < heap->pages) {
            uint32_t first = heap->page[page].first;

            if (first != NO_PAGE) {
                run = 0;
                page = first + pages_of(heap->page[first].what);
                continue;
            }
            page++;
            if (++run == count) {
                heap->cursor = (uint32_t)page;
                return (uint32_t)(page - count);
            }
        }
    }
    return NO_PAGE;
}

/* Frees the pages of a span or large block of which no block is taken. */
static void vacate(struct heap *heap, uint32_t first)
{
    uint64_t count = pages_of(heap->page[first].what);

    for (uint64_t i = 0; i < count; i++)
        heap->page[first + i].first = NO_PAGE;
    heap->page[first].what = 0;
}

static uint64_t offset_of(const struct heap *heap, uint32_t first, uint64_t line)
{
    return heap->pages_offset + (uint64_t)first * PERSIST_PAGE + line * PERSIST_LINE;
}

/* A block of whole pages that begins at this line of the first one. */
static uint64_t promise_pages(struct heap *heap, uint64_t size, uint32_t colour)
{
    uint64_t pages = (size + colour * (uint64_t)PERSIST_LINE + PERSIST_PAGE - 1) / PERSIST_PAGE;
    uint32_t first = find_pages(heap, pages);

    if (first == NO_PAGE)
        return 0;
    heap->colour = (heap->colour + 1) % (PERSIST_PAGE / PERSIST_LINE);
    occupy(heap, first, LARGE_BLOCK | pages << 8 | colour, 1);
    return offset_of(heap, first, colour);
}

static uint64_t promise_small(struct heap *heap, unsigned class)
{
    uint64_t lines = class_lines[class], room;
    uint32_t first = heap->of_class[class].room;
    unsigned from = heap->of_class[class].block, block;

    if (first == NO_PAGE) {
        first = find_pages(heap, lines);
        if (first == NO_PAGE)
            return 0;
        occupy(heap, first, lines, 0);
    }
    room = ~heap->page[first].taken & all_bits(lines);
    /* The next free one in turn. */
    block = (unsigned)__builtin_ctzll(room >> from != 0 ? room >> from << from : room);
    heap->of_class[class].block = (block + 1) % class_blocks(lines);
    heap->page[first].taken |= UINT64_C(1) << block;
    if (!has_room(&heap->page[first]))
        list_remove(heap, first);
    return offset_of(heap, first, class_line(lines, block));
}

/* First page and bit of a block; false: no block begins at this offset. */
static bool locate(const struct heap *heap, uint64_t block, uint32_t *first, uint64_t *bit)
{
    uint64_t line = (block - heap->pages_offset) / PERSIST_LINE, what;
    unsigned number;

    if (block < heap->pages_offset || block % PERSIST_LINE != 0 ||
        line >= heap->pages * (PERSIST_PAGE / PERSIST_LINE))
        return false;
    *first = heap->page[line * PERSIST_LINE / PERSIST_PAGE].first;
    if (*first == NO_PAGE)
        return false;
    what = heap->page[*first].what;
    line -= (uint64_t)*first * (PERSIST_PAGE / PERSIST_LINE);
    if (what & LARGE_BLOCK) {
        *bit = 1;
        return line == (what & 0xff);
    }
    number = class_block(what, line);
    *bit = UINT64_C(1) << (number & 63);
    return number < class_blocks(what) && (heap->page[*first].taken & *bit) != 0;
}

static void set_pending(struct heap *heap, uint64_t block, bool is_pending)
{
    uint32_t first;
    uint64_t bit;

    if (!locate(heap, block, &first, &bit))
        return;
    if (is_pending)
        heap->page[first].pending |= bit;
    else
        heap->page[first].pending &= ~bit;
}

uint64_t heap_promise(struct heap *heap, uint64_t size)
{
    uint64_t block;

    if (size > heap->pages * PERSIST_PAGE)
        return 0;
    pthread_mutex_lock(&heap->lock);
    if (size <= CLASS_LARGEST_LINES * PERSIST_LINE)
        block = promise_small(heap, class_of_lines((size + PERSIST_LINE - 1) / PERSIST_LINE));
    else
        /* At the line whose turn it is: in the last page's slack, or with one page more. */
        block = promise_pages(heap, size, heap->colour);
    if (block == 0)
        block = promise_pages(heap, size, 0); /* no run is as long as that, or as a span */
    if (block != 0)
        set_pending(heap, block, true);
    pthread_mutex_unlock(&heap->lock);
    return block;
}

static void release(struct heap *heap, uint64_t block)
{
    struct heap_page *page;
    uint32_t first = NO_PAGE;
    uint64_t bit = 0;
    bool had_room;

    if (!locate(heap, block, &first, &bit))
        return;
    page = &heap->page[first];
    had_room = has_room(page);
    page->taken &= ~bit;
    page->pending &= ~bit;
    if (page->taken == 0) {
        if (had_room)
            list_remove(heap, first);
        vacate(heap, first);
    } else if (!had_room) {
        list_add(heap, first);
    }
}

void heap_break_promise(struct heap *heap, uint64_t block)
{
    pthread_mutex_lock(&heap->lock);
    release(heap, block);
    pthread_mutex_unlock(&heap->lock);
}

void heap_end_free(struct heap *heap, uint64_t block)
{
    heap_break_promise(heap, block);
}

bool heap_begin_free(struct heap *heap, uint64_t block)
{
    uint32_t first;
    uint64_t bit;
    bool sound;

    pthread_mutex_lock(&heap->lock);
    sound = locate(heap, block, &first, &bit) && (heap->page[first].pending & bit) == 0;
    if (sound)
        heap->page[first].pending |= bit;
    pthread_mutex_unlock(&heap->lock);
    return sound;
}

void heap_keep(struct heap *heap, uint64_t block)
{
    pthread_mutex_lock(&heap->lock);
    set_pending(heap, block, false);
    pthread_mutex_unlock(&heap->lock);
}

struct page_entry *heap_entry_of(struct heap *heap, uint64_t block, bool allocated,
                                 struct page_entry *entry)
{
    uint32_t first = 0;
    uint64_t bit = 0;
    struct page_entry *target;

    pthread_mutex_lock(&heap->lock);
    locate(heap, block, &first, &bit);
    target = &table(heap)[first];
    entry->what = heap->page[first].what;
    /* A new span: what its entry said before was free. */
    entry->taken = allocated ? target->taken | bit : target->taken & ~bit;
    pthread_mutex_unlock(&heap->lock);
    return target;
}

uint64_t heap_count_taken(struct heap *heap)
{
    uint64_t count = 0;

    pthread_mutex_lock(&heap->lock);
    for (uint64_t page = 0; page < heap->pages; page++) {
        if (heap->page[page].first == page)
            count += (unsigned)__builtin_popcountll(heap->page[page].taken);
    }
    pthread_mutex_unlock(&heap->lock);
    return count;
}
