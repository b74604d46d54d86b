/*
 * SPDX-License-Identifier: MIT
 *
 * Whether a block that is freed waits in a magazine already: a look at the last places, for whoever
 * finds the colour of a block taken. Whoever works on the magazine meanwhile: places below a count
 * held blocks that waited when it was read, and have been written only with blocks that wait since,
 * or are in another thread's hands; the caller's is none of them. So it is true only of a block
 * that does wait.
 */
#ifndef MPLACE_CIA_MAGAZINE_LATELY_H
#define MPLACE_CIA_MAGAZINE_LATELY_H

#include "cia_malloc/magazine.h"

/*
 * Whether the block was put into one of the last of so many places. What waits as it was loaded,
 * never freed, has MAGAZINE_UNTOUCHED and is not meant.
 */
static inline bool magazine_is_among_last(char *const *places, uint32_t count, const void *block)
{
    enum { LOOKED_AT = 8 };
    bool found = false;

    if (__builtin_expect(count < LOOKED_AT, 0)) {
        for (uint32_t i = 0; i < count; i++)
            found |= __atomic_load_n(&places[i], __ATOMIC_RELAXED) == block;
        return found;
    }
    /* All of them, whether it was found or not: there is no branch to be mispredicted. One place at
       a time: two that were just written, read as one, would have to reach the cache before. */
    places += count;
#pragma GCC unroll 8
    for (ptrdiff_t i = -LOOKED_AT; i < 0; i++)
        found |= __atomic_load_n(&places[i], __ATOMIC_RELAXED) == block;
    return found;
}

/* In the stack. Only of an open magazine. Acquire: the places are as new as the count or newer. */
static inline bool magazine_stack_has_lately(const struct magazine *magazine, const void *block)
{
    uint64_t top = atomic_load_explicit(&magazine->top, memory_order_acquire);

    return magazine_is_among_last(magazine->store->stack, top & MAGAZINE_TOP_MASK, block);
}

/* The same in the second level. */
static inline bool magazine_second_has_lately(const struct magazine *magazine, const void *block)
{
    uint64_t count = atomic_load_explicit(&magazine->second, memory_order_acquire);

    return magazine_is_among_last(magazine->store->second, (uint32_t)count, block);
}

#endif
