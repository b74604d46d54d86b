/*
 * SPDX-License-Identifier: MIT
 *
 * When a class is packed (CIA_LINES): its new blocks lie side by side, several to a cache line, in
 * place of each on lines of its own.
 *
 * With auto, the default, a class is packed once the program has more than 256 KiB of it on one
 * CPU: more than can be hot at once. Then for the whole process and for good: one table says which
 * size class a request has. Blocks that it had before keep their lines.
 */
#ifndef MPLACE_CIA_PACKING_H
#define MPLACE_CIA_PACKING_H

#include "cia_malloc/heap/subheap.h"

/* Packs the class if it has outgrown the bound; out of line. */
void packing_decide(struct subheap *heap, unsigned size_class);

/* The class heap counts a load as one allocation. A look at all magazines costs some 100 ns a CPU.
 */
enum { LOADS_PER_CHECK = 16 };

/* For the holder of the lock, after each load of a magazine. */
static inline void packing_after_load(struct subheap *heap, unsigned size_class)
{
    const struct class_heap *class_heap = &heap->classes[size_class];

    if (__builtin_expect(size_class_outgrows(class_heap_live_bytes(class_heap)), 0) &&
        class_heap->allocations % LOADS_PER_CHECK == 0)
        packing_decide(heap, size_class);
}

#endif
