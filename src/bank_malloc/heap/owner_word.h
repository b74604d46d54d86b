/*
 * SPDX-License-Identifier: MIT
 *
 * A slab's owner word: the address of its heap, alone or with a mark in its low bits. heap.h says
 * what for.
 *
 * No mark: the heap's thread has the slab. It allocates from it, or keeps it for its free blocks.
 *
 * SET_ASIDE: the slab is full, and nobody has it. Who changes that by compare-and-exchange has it:
 * the heap's thread, without a mark, or a thread that holds arena.lock and has found all blocks
 * freed by others, as
 *
 * SWEPT: it goes back to the pool, or is set aside again.
 *
 * In every state other threads free blocks, and tell the heap by its stack. With a mark nobody
 * writes the first half of the slab's bits: it is all zero.
 */
#ifndef MPLACE_BANK_OWNER_WORD_H
#define MPLACE_BANK_OWNER_WORD_H

#include "bank_malloc/memory/arena.h"

enum {
    OWNER_SET_ASIDE = 1, /* full, and not what the heap allocates from: see heap.h */
    OWNER_SWEPT = 2,     /* it was set aside, and goes back to the pool */
    OWNER_MARKS = OWNER_SET_ASIDE | OWNER_SWEPT,
};

static inline struct heap *owner_marked(struct heap *heap, unsigned mark)
{
    return (struct heap *)((uintptr_t)heap | mark);
}

static inline struct heap *owner_heap(struct heap *owner_word)
{
    return (struct heap *)((uintptr_t)owner_word & ~(uintptr_t)OWNER_MARKS);
}

/* By who has the slab; release: who takes the mark off finds the bits as they are. */
static inline void owner_set_aside(struct heap *heap, struct chunk *slab)
{
    atomic_store_explicit(&slab->owner, owner_marked(heap, OWNER_SET_ASIDE), memory_order_release);
}

/* By the heap's thread, or with arena.lock for an orphan. False: it was not set aside, or is
   swept. */
static inline bool owner_take_back(struct heap *heap, struct chunk *slab)
{
    struct heap *word = owner_marked(heap, OWNER_SET_ASIDE);

    return atomic_compare_exchange_strong(&slab->owner, &word, heap);
}

/* While the slab is set aside all its blocks are in use but for those that others freed. */
static inline bool all_are_freed(struct chunk *slab)
{
    for (uint32_t first = 0; first < slab->blocks; first += 64) {
        uint64_t all =
            ~(uint64_t)0 >> (slab->blocks - first < 64 ? 64 - (slab->blocks - first) : 0);

        if (atomic_load_explicit(&chunk_remote(slab)[first / 64], memory_order_acquire) != all)
            return false;
    }
    return true;
}

/*
 * Takes a slab that is set aside for good, if all its blocks were freed. It is looked at twice:
 * what the first look saw may be over, with all blocks handed out again and the slab set aside
 * again, when it gets the mark OWNER_SWEPT; under that mark blocks are only freed.
 */
static inline bool owner_take_to_release(struct chunk *slab)
{
    struct heap *word = atomic_load(&slab->owner), *heap = owner_heap(word);

    if (word != owner_marked(heap, OWNER_SET_ASIDE) || !all_are_freed(slab) ||
        !atomic_compare_exchange_strong(&slab->owner, &word, owner_marked(heap, OWNER_SWEPT)))
        return false;
    if (all_are_freed(slab))
        return true;
    owner_set_aside(heap, slab);
    return false;
}

#endif
