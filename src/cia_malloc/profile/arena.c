/*
 * SPDX-License-Identifier: MIT
 *
 * See arena.h. Blocks of pages; the newest one is cut up by an atomic addition.
 */
#include "cia_malloc/profile/arena.h"

#include "base/pages.h"

#include <stdatomic.h>

enum { BLOCK_BYTES = 256 << 10 };

struct arena_block {
    _Atomic size_t used; /* above BLOCK_BYTES when it is used up */
};

/* Released by compare-and-swap, read with acquire: used is initialised. */
static struct arena_block *_Atomic newest;

void *arena_take(size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    for (;;) {
        struct arena_block *block = atomic_load_explicit(&newest, memory_order_acquire);

        if (block != NULL) {
            size_t at = atomic_fetch_add_explicit(&block->used, bytes, memory_order_relaxed);

            if (at + bytes <= BLOCK_BYTES)
                return (char *)block + at;
        }
        struct arena_block *fresh = pages_map(BLOCK_BYTES, MAP_NORESERVE);
        if (fresh == NULL)
            return NULL;
        atomic_init(&fresh->used, sizeof *fresh);
        if (!atomic_compare_exchange_strong_explicit(&newest, &block, fresh, memory_order_acq_rel,
                                                     memory_order_acquire))
            pages_unmap(fresh, BLOCK_BYTES);
    }
}
