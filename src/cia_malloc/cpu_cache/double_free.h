/*
 * SPDX-License-Identifier: MIT
 *
 * Whether a block that is freed waits in a magazine already: a look at the places, for whoever
 * finds that the loaded magazine does not take it. Whoever works on the magazine meanwhile: places
 * below the top held blocks that waited when it was read, and have been written only with blocks
 * that wait since, or are in another thread's hands; the caller's is none of them. So it is true
 * only of a block that does wait. What waits as it was loaded, never freed, has MAGAZINE_UNTOUCHED
 * and is not meant.
 */
#ifndef MPLACE_CIA_DOUBLE_FREE_H
#define MPLACE_CIA_DOUBLE_FREE_H

#include "cia_malloc/cpu_cache/magazine.h"

/* Of an open magazine. Whether the block is the last of its colour that was freed there: a hint. */
static inline bool magazine_freed_last(const struct magazine *magazine, const void *block)
{
    return __atomic_load_n(&magazine->store->last[magazine_colour(block)], __ATOMIC_RELAXED) ==
           magazine_low_address(block);
}

/* Whether the block waits in one of the last so many places. */
static inline bool magazine_has(const struct magazine *magazine, const void *block, uint32_t among)
{
    uint32_t top = magazine_cached(magazine);

    for (uint32_t i = top < among ? 0 : top - among; i < top; i++) {
        if (__atomic_load_n(&magazine->store->stack[i], __ATOMIC_RELAXED) == block)
            return true;
    }
    return false;
}

#endif
