/*
 * SPDX-License-Identifier: MIT
 *
 * Making leaves; see page_map.h.
 */
#include "cia_malloc/pages/page_map.h"

/* Read by every free: whole lines, which share none with words that are written. */
_Alignas(LINE_BYTES) _Atomic(struct page_map_leaf *) page_map_root[PAGE_MAP_ROOT_ENTRIES];
static_assert(sizeof page_map_root % LINE_BYTES == 0, "nothing is behind it in its last line");

enum { LEAF_BYTES = PAGE_MAP_LEAF_PAGES * sizeof(struct page_info) + PAGE_BYTES };
static_assert(sizeof(struct page_map_leaf) <= LEAF_BYTES, "the chunks take a page");

/* A leaf that was put back unused, or NULL. Whoever takes it by exchange has it. */
static _Atomic(struct page_map_leaf *) unused_leaf;

struct page_map_leaf *page_map_take_leaf(void)
{
    struct page_map_leaf *leaf = atomic_load_explicit(&unused_leaf, memory_order_relaxed);

    if (leaf != NULL)
        leaf = atomic_exchange_explicit(&unused_leaf, NULL, memory_order_acquire);
    return leaf != NULL ? leaf : page_source_map(LEAF_BYTES, PAGE_BYTES);
}

void page_map_put_leaf(struct page_map_leaf *leaf)
{
    struct page_map_leaf *none = NULL;

    if (!atomic_compare_exchange_strong_explicit(&unused_leaf, &none, leaf, memory_order_release,
                                                 memory_order_relaxed))
        page_source_unmap(leaf, LEAF_BYTES);
}

void page_map_use_leaf(const void *address, struct page_map_leaf *leaf)
{
    uintptr_t window = (uintptr_t)address >> PAGE_MAP_LEAF_SHIFT;
    struct page_map_leaf *none = NULL;

    /* The root is read by every free: not written in vain. Release: a reader finds the leaf zeroed
       or later. */
    if (page_map_leaf_of(address) != NULL ||
        !atomic_compare_exchange_strong_explicit(&page_map_root[window], &none, leaf,
                                                 memory_order_release, memory_order_relaxed))
        page_map_put_leaf(leaf);
}

struct page_info *page_map_provide(const void *address)
{
    /* Above are 5-level page tables: only on explicit request, which we never make. */
    if (page_map_find(address) == NULL && (uintptr_t)address >> ADDRESS_BITS == 0) {
        struct page_map_leaf *leaf = page_map_take_leaf();

        if (leaf != NULL)
            page_map_use_leaf(address, leaf);
    }
    return page_map_find(address);
}
