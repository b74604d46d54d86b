/*
 * SPDX-License-Identifier: MIT
 *
 * See tiny_heap.h. Under the sub-heap's lock, and once in 32 mallocs or frees.
 */
#include "cia_malloc/heap/tiny_heap.h"

#include "base/probes.h"
#include "base/report.h"

#include <stdlib.h>

void tiny_heap_initialise(struct tiny_heap *heap, struct page_heap *pages, uint32_t number)
{
    heap->pages = pages;
    heap->cpu = (uint16_t)(number < CPU_HEAPS ? number : TINY_NO_CPU);
}

static unsigned tiny_of(const struct span *page)
{
    return page->size_class - CLASS_TINY;
}

/* The bits of a page without a live block: 256 blocks of 16 B, or 128 of 32. */
static uint64_t all_bits(unsigned tiny, uint32_t word)
{
    return word < (uint32_t)TINY_WORDS >> tiny ? ~(uint64_t)0 : 0;
}

static bool is_idle(const struct span *page)
{
    uint64_t missing = 0;

    for (uint32_t word = 0; word < TINY_WORDS; word++)
        missing |= page->tiny_free[word] ^ all_bits(tiny_of(page), word);
    return missing == 0;
}

static bool has_free(const struct span *page)
{
    return (page->tiny_free[0] | page->tiny_free[1] | page->tiny_free[2] | page->tiny_free[3]) != 0;
}

static void unlist(struct tiny_class *class, struct span *page)
{
    page->previous->next = page->next;
    page->next->previous = page->previous;
    if (class->partial == page)
        class->partial = page->next != page ? page->next : NULL;
}

/* As the last one of the circle. */
static void list_last(struct tiny_class *class, struct span *page)
{
    struct span *first = class->partial;

    page->next = first != NULL ? first : page;
    page->previous = first != NULL ? first->previous : page;
    page->previous->next = page;
    page->next->previous = page;
    if (first == NULL)
        class->partial = page;
}

static void list_first(struct tiny_class *class, struct span *page)
{
    list_last(class, page);
    class->partial = page;
}

static char *address_of(const struct span *page)
{
    return page->chunk->base + (size_t)page->run_page * PAGE_BYTES;
}

/* All lines of the page are written: it is there, whole, before a block of it is handed out. */
static bool add_page(struct tiny_heap *heap, unsigned tiny)
{
    static const struct page_request one = {.pages = 1, .modulus = 1, .preferred_modulus = 1};
    struct page_run run;

    if (!page_heap_take(heap->pages, &one, &run))
        return false;
    struct span *page = &run.chunk->spans[run.page];
    struct span_remote *remote = &run.chunk->remotes[run.page];

    *page = (struct span){
        .chunk = run.chunk,
        .size_class = (uint8_t)(CLASS_TINY + tiny),
        .run_page = (uint16_t)run.page,
        .run_pages = 1,
    };
    for (uint32_t word = 0; word < TINY_WORDS; word++) {
        page->tiny_free[word] = all_bits(tiny, word);
        /* Zero where nothing was written yet: then it takes no memory before the first use. */
        if (atomic_load_explicit(&remote->tiny_freed[word], memory_order_relaxed) != 0)
            atomic_store_explicit(&remote->tiny_freed[word], 0, memory_order_relaxed);
    }
    run.chunk->pages[run.page] = (struct page_info){
        .magazine = (uint16_t)magazine_offset(TINY_MAGAZINES + tiny, run.chunk->node),
        .size_class = page->size_class,
        .run_page = page->run_page,
        .tiny_cpu = heap->cpu,
    };
    for (size_t offset = 0; offset < PAGE_BYTES; offset += tiny_bytes(tiny))
        *tiny_mark(address_of(page) + offset) = TINY_FREE_MARK;
    list_last(&heap->classes[tiny], page);
    heap->classes[tiny].pages++;
    heap->classes[tiny].idle++;
    PROBE3(span_refill, heap->cpu, tiny_bytes(tiny), 1);
    return true;
}

static void remove_page(struct tiny_heap *heap, struct span *page)
{
    struct tiny_class *class = &heap->classes[tiny_of(page)];

    unlist(class, page);
    class->pages--;
    class->idle--;
    page_heap_return(heap->pages, page->chunk, page->run_page, 1);
}

/* The first of the blocks that have a bit. */
static char *first_of(const struct tiny_place *blocks)
{
    const struct span *page = &blocks->chunk->spans[blocks->page];
    uint32_t number = blocks->word * 64 + (uint32_t)__builtin_ctzll(blocks->bit);

    return address_of(page) + number * tiny_bytes(tiny_of(page));
}

static _Noreturn void freed_twice(struct tiny_place blocks, uint64_t bits)
{
    blocks.bit = bits;
    tiny_double_free(first_of(&blocks));
}

static uint32_t take_from(struct span *page, char **blocks, uint32_t most)
{
    size_t bytes = tiny_bytes(tiny_of(page));
    char *base = address_of(page);
    uint32_t count = 0;

    for (uint32_t word = 0; word < TINY_WORDS; word++) {
        uint64_t left = page->tiny_free[word];

        for (; left != 0 && count < most; left &= left - 1)
            blocks[count++] = base + (word * 64 + (uint32_t)__builtin_ctzll(left)) * bytes;
        /* Relaxed, not plain, as wherever it is written: see tiny_is_free. */
        __atomic_store_n(&page->tiny_free[word], left, __ATOMIC_RELAXED);
    }
    return count;
}

uint32_t tiny_heap_take(struct tiny_heap *heap, unsigned tiny, char **blocks, uint32_t most)
{
    struct tiny_class *class = &heap->classes[tiny];
    uint32_t count = 0;

    tiny_heap_drain(heap);
    if (class->partial == NULL && !add_page(heap, tiny))
        return 0;
    while (count < most && class->partial != NULL) {
        struct span *page = class->partial;

        class->idle -= is_idle(page);
        count += take_from(page, blocks + count, most - count);
        if (!has_free(page))
            unlist(class, page);
    }
    class->live += count;
    return count;
}

void tiny_heap_put(struct tiny_heap *heap, const struct tiny_place *blocks)
{
    struct span *page = &blocks->chunk->spans[blocks->page];
    struct tiny_class *class = &heap->classes[tiny_of(page)];
    uint64_t before = page->tiny_free[blocks->word];
    bool was_listed = has_free(page);

    if (__builtin_expect((before & blocks->bit) != 0, 0))
        freed_twice(*blocks, before & blocks->bit);
    __atomic_store_n(&page->tiny_free[blocks->word], before | blocks->bit, __ATOMIC_RELAXED);
    class->live -= (uint32_t)__builtin_popcountll(blocks->bit);
    if (!was_listed)
        list_first(class, page); /* the fullest pages first: the others may become idle */
    if (!is_idle(page))
        return;
    class->idle++;
    if (class->idle > 1) {
        remove_page(heap, page);
    } else {
        unlist(class, page);
        list_last(class, page);
    }
}

void tiny_heap_free_remote(struct tiny_heap *heap, const struct tiny_place *blocks)
{
    struct span_remote *remote = &blocks->chunk->remotes[blocks->page];
    uintptr_t page = (uintptr_t)blocks->chunk->base + (size_t)blocks->page * PAGE_BYTES;
    /* The orders are those of subheap_free_remote, a word here being what a span is there. */
    uint64_t before = atomic_fetch_or_explicit(&remote->tiny_freed[blocks->word], blocks->bit,
                                               memory_order_acq_rel);

    if (__builtin_expect((before & blocks->bit) != 0, 0))
        freed_twice(*blocks, before & blocks->bit);
    if (before != 0)
        return; /* whoever set the first bit pushes the word */

    uintptr_t head = atomic_load_explicit(&heap->inbox, memory_order_relaxed);
    do
        remote->tiny_next[blocks->word] = head;
    while (!atomic_compare_exchange_weak_explicit(&heap->inbox, &head, page + blocks->word,
                                                  memory_order_release, memory_order_relaxed));
}

void tiny_heap_drain(struct tiny_heap *heap)
{
    if (atomic_load_explicit(&heap->inbox, memory_order_relaxed) == 0)
        return;
    uintptr_t entry = atomic_exchange_explicit(&heap->inbox, 0, memory_order_acquire);

    while (entry != 0) {
        struct chunk *chunk = page_source_owner((const void *)entry);
        struct tiny_place blocks = {
            .chunk = chunk,
            .page = (uint32_t)(entry % CHUNK_BYTES >> PAGE_SHIFT),
            .word = (uint32_t)(entry % PAGE_BYTES),
        };
        struct span_remote *remote = &chunk->remotes[blocks.page];

        /* Next before the word is zeroed, and with that order: as in subheap_drain. */
        entry = remote->tiny_next[blocks.word];
        blocks.bit =
            atomic_exchange_explicit(&remote->tiny_freed[blocks.word], 0, memory_order_acq_rel);
        PROBE3(remote_free_drain, heap->cpu, &chunk->spans[blocks.page], blocks.bit);
        tiny_heap_put(heap, &blocks);
    }
}

void tiny_heap_trim(struct tiny_heap *heap)
{
    for (unsigned tiny = 0; tiny < TINY_CLASSES; tiny++) {
        struct tiny_class *class = &heap->classes[tiny];

        /* Only the last page may be idle, see tiny_heap_put. */
        if (class->partial != NULL && is_idle(class->partial->previous))
            remove_page(heap, class->partial->previous);
    }
}

bool tiny_is_free(const struct tiny_place *block)
{
    const struct span *page = &block->chunk->spans[block->page];
    struct span_remote *remote = &block->chunk->remotes[block->page];

    return ((__atomic_load_n(&page->tiny_free[block->word], __ATOMIC_RELAXED) |
             atomic_load_explicit(&remote->tiny_freed[block->word], memory_order_relaxed)) &
            block->bit) != 0;
}

_Noreturn void tiny_double_free(const void *block)
{
    report_line("libcia_malloc: double free of the block at %p", block);
    abort();
}
