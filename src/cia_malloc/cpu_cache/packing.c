/*
 * SPDX-License-Identifier: MIT
 *
 * See packing.h.
 */
#include "cia_malloc/cpu_cache/packing.h"

#include "cia_malloc/cpu_cache/heap_table.h"
#include "mplace.h"

#include <string.h>

/* Of a lock library, if one is loaded. */
#pragma weak mplace_lock_htm

/* Transactions want lines of their own: where they are used no class is packed. */
static bool transactions_are_used(void)
{
    return mplace_lock_htm != NULL && strcmp(mplace_lock_htm(), "native") == 0;
}

/* Bytes of blocks that the program has. Some of those that live to the class heap are cached, in
   the inbox or in a magazine of some CPU. */
static uint64_t bytes_in_use(struct subheap *heap, unsigned size_class)
{
    const struct class_heap *class_heap = &heap->classes[size_class];

    subheap_drain(heap);
    uint64_t cached = heap_cached_blocks(size_class) * class_heap->block_bytes;
    uint64_t live = class_heap_live_bytes(class_heap);
    return live > cached ? live - cached : 0;
}

void packing_after_load(struct subheap *heap, unsigned size_class)
{
    /* Each counts as one allocation. A look at all magazines costs some 100 ns a CPU. */
    enum { LOADS_PER_CHECK = 16 };
    const struct class_heap *class_heap = &heap->classes[size_class];

    if (size_class_outgrows(class_heap_live_bytes(class_heap)) &&
        class_heap->allocations % LOADS_PER_CHECK == 0 && !size_class_is_packed(size_class) &&
        !transactions_are_used() && size_class_outgrows(bytes_in_use(heap, size_class)))
        size_class_pack(size_class);
}
