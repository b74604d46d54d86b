/*
 * SPDX-License-Identifier: MIT
 *
 * From a size to a sub-heap, from an address to its span; see allocator.h.
 */
#include "cia_malloc/allocator.h"

#include "base/report.h"
#include "cia_malloc/heap_table.h"
#include "cia_malloc/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Alignments from here on get whole pages: taking a longer block would cost as much. */
    PAGE_RUN_ALIGNMENT = 2048,
};

/* Where a block is. */
struct location {
    struct chunk *chunk;
    const struct page_info *info;
    uint32_t span; /* index in chunk->spans */
    uint64_t bit;
    char *block;         /* its first byte; the address looked up may lie behind it */
    size_t bytes;        /* from block on */
    uint32_t span_pages; /* of the span, rounded down */
};

static _Noreturn void wrong_address(const void *address, const char *what)
{
    report_line("libcia_malloc: %p given to free, realloc or malloc_usable_size is %s", address,
                what);
    abort();
}

/*
 * Constant time: the page's info, a multiply, and the class's constants. Reads no line that malloc
 * or free writes.
 */
static inline __attribute__((always_inline)) struct location locate(struct chunk *chunk,
                                                                    const void *address)
{
    size_t offset = (size_t)((const char *)address - chunk->base);
    const struct page_info *info = &chunk->pages[offset >> PAGE_SHIFT];
    struct location at = {.chunk = chunk, .info = info};
    uint32_t first = (uint32_t)info->run_page * LINES_PER_PAGE + info->first_line;
    uint32_t line = (uint32_t)(offset >> LINE_SHIFT) - first;

    if (__builtin_expect(info->size_class >= CLASS_LARGE, 0)) {
        const struct span *span = &chunk->spans[info->run_page];

        if (info->size_class != CLASS_LARGE || line != 0)
            wrong_address(address, "not the address of a block");
        at.span = info->run_page;
        at.bit = 1;
        at.block = span->base;
        at.span_pages = span->run_pages;
        at.bytes = (size_t)span->run_pages * PAGE_BYTES - (size_t)info->first_line * LINE_BYTES;
        return at;
    }
    const struct class_layout *layout = &class_layouts[info->size_class];
    struct block_position position = class_layout_locate(layout, line);
    uint32_t block_line = position.span * layout->span_lines + position.block * layout->lines;

    if (__builtin_expect(
            position.span >= layout->run_spans || position.block >= layout->span_blocks, 0))
        wrong_address(address, "between two blocks");
    at.span = info->run_page + position.span;
    at.bit = (uint64_t)1 << span_bit_of_block(
                 layout, span_phase(layout, info->run_type, position.span), position.block);
    at.block = chunk->base + (size_t)(first + block_line) * LINE_BYTES;
    at.bytes = (size_t)layout->lines * LINE_BYTES;
    at.span_pages = layout->span_lines / LINES_PER_PAGE;
    return at;
}

/* What a block's address must satisfy: it is the first byte, or was handed out aligned. */
static inline void check_start(const struct location *at, const void *address)
{
    const struct span *span = &at->chunk->spans[at->span];

    /* The owner may write other bits of the word meanwhile; this block's bit stands while it lives.
     */
    if (__builtin_expect(at->block != address, 0) &&
        (__atomic_load_n(&span->interior, __ATOMIC_RELAXED) & at->bit) == 0)
        wrong_address(address, "inside a block");
}

static struct huge *huge_of(void *owner, const void *address)
{
    struct huge *huge = owner;

    if (huge->block != address)
        wrong_address(address, "inside a block");
    return huge;
}

static inline __attribute__((always_inline)) void *allocate(size_t bytes, bool *zeroed)
{
    struct subheap *heap = heap_acquire();
    void *block;

    if (__builtin_expect(heap == NULL, 0))
        return NULL;
    if (__builtin_expect(bytes > SIZE_CLASS_LARGEST, 0))
        return large_allocate_and_unlock(heap, bytes, LINE_BYTES, zeroed);
    block = subheap_allocate(heap, size_class_of(bytes), zeroed);
    subheap_unlock(heap);
    return block;
}

void *cia_allocate(size_t bytes)
{
    bool zeroed;

    return allocate(bytes, &zeroed);
}

void *cia_allocate_zeroed(size_t bytes)
{
    bool zeroed = false;
    void *block = allocate(bytes, &zeroed);

    return block != NULL && !zeroed ? memset(block, 0, bytes) : block;
}

void *cia_allocate_aligned(size_t alignment, size_t bytes)
{
    bool zeroed;

    if (alignment <= LINE_BYTES)
        return allocate(bytes, &zeroed);
    if (bytes == 0)
        bytes = 1;

    struct subheap *heap = heap_acquire();
    if (heap == NULL)
        return NULL;
    if (bytes > SIZE_CLASS_LARGEST - alignment || alignment >= PAGE_RUN_ALIGNMENT)
        return large_allocate_and_unlock(heap, bytes, alignment, &zeroed);

    /* Blocks of all colours, each long enough for an aligned address: the aligned ones then take in
       turn all sets that their alignment leaves. */
    char *block = subheap_allocate(heap, size_class_of(bytes + alignment - LINE_BYTES), &zeroed);
    char *aligned = NULL;
    if (block != NULL) {
        aligned = block + (-(uintptr_t)block & (alignment - 1));
        if (aligned != block) {
            struct location at = locate(page_source_owner(block), block);
            uint64_t *interior = &at.chunk->spans[at.span].interior;

            __atomic_store_n(interior, *interior | at.bit, __ATOMIC_RELAXED);
        }
    }
    subheap_unlock(heap);
    return aligned;
}

void cia_free(void *address)
{
    void *found = page_source_owner(address);

    if (__builtin_expect(found == NULL, 0))
        wrong_address(address, "not from this allocator");
    if (__builtin_expect(owner_kind_of(found) == OWNER_HUGE, 0)) {
        huge_free(huge_of(found, address));
        return;
    }
    struct chunk *chunk = found;
    struct location at = locate(chunk, address);
    struct subheap *owner = chunk->owner;
    check_start(&at, address);

    /* Ours is the sub-heap of this CPU: anyone else's line would be taken away from them. */
    if (owner ==
            atomic_load_explicit(&heap_table[current_cpu() % CPU_HEAPS], memory_order_relaxed) &&
        subheap_try_lock(owner)) {
        struct span *span = &chunk->spans[at.span];

        if (__builtin_expect((span->free & at.bit) != 0, 0))
            subheap_double_free(span, at.bit);
        subheap_free_local(owner, span, at.bit);
        subheap_unlock(owner);
    } else {
        subheap_free_remote(chunk, at.span, at.bit, at.span_pages);
    }
}

size_t cia_usable(const void *address)
{
    void *found = page_source_owner(address);

    if (found == NULL)
        wrong_address(address, "not from this allocator");
    if (owner_kind_of(found) == OWNER_HUGE)
        return huge_usable(huge_of(found, address));
    struct location at = locate(found, address);
    check_start(&at, address);
    return at.bytes - (size_t)((const char *)address - at.block);
}

void *cia_reallocate(void *block, size_t bytes)
{
    size_t usable = cia_usable(block);
    void *owner = page_source_owner(block);

    /* A mapping follows its block's length to the page. */
    if (owner_kind_of(owner) == OWNER_HUGE && bytes > (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES) {
        void *resized = huge_resize(owner, bytes);

        if (resized != NULL)
            return resized;
    }
    /* In place while at least half of the block stays in use, or none could be shorter. */
    if (bytes <= usable && (bytes >= usable / 2 || usable <= LINE_BYTES))
        return block;
    void *moved = cia_allocate(bytes);
    if (moved == NULL)
        return bytes <= usable ? block : NULL; /* shrinking never fails */
    memcpy(moved, block, bytes < usable ? bytes : usable);
    cia_free(block);
    return moved;
}
