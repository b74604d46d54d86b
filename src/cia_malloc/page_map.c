/*
 * SPDX-License-Identifier: MIT
 *
 * Making leaves; see page_map.h.
 */
#include "cia_malloc/page_map.h"

_Atomic(struct page_info *) page_map_root[PAGE_MAP_ROOT_ENTRIES];

struct page_info *page_map_provide(const void *chunk_base)
{
    enum { LEAF_BYTES = PAGE_MAP_LEAF_PAGES * sizeof(struct page_info) };
    uintptr_t window = (uintptr_t)chunk_base >> PAGE_MAP_LEAF_SHIFT;

    if (window >= PAGE_MAP_ROOT_ENTRIES)
        return NULL; /* 5-level page tables: only on explicit request, which we never make */
    if (atomic_load_explicit(&page_map_root[window], memory_order_relaxed) == NULL) {
        struct page_info *expected = NULL;
        struct page_info *leaf = page_source_map(LEAF_BYTES, PAGE_BYTES);

        if (leaf == NULL)
            return NULL;
        /* Release: a reader finds it zeroed or later. */
        if (!atomic_compare_exchange_strong_explicit(&page_map_root[window], &expected, leaf,
                                                     memory_order_acq_rel, memory_order_acquire))
            page_source_unmap(leaf, LEAF_BYTES);
    }
    return page_map_find(chunk_base);
}
