/*
 * SPDX-License-Identifier: MIT
 *
 * A slab's owner word: the address of its heap, alone or with a mark in its low bits. heap.h says
 * what for.
 *
 * No mark: the heap's thread has the slab. It allocates from it, or keeps it for its free blocks.
 *
 * SET_ASIDE: the slab is full, and nobody has it. The heap's thread takes it back, as it frees one
 * of its blocks or finds that others did; or a thread that holds arena.lock and has found all
 * blocks freed by others makes it
 *
 * SWEPT: it goes back to the pool, or is set aside again.
 *
 * In every state other threads free blocks, and tell the heap by its stack. The heap's thread frees
 * blocks in every state, too, and takes the slab back by a plain store: with that block in use
 * nobody else takes it for good. Where it has no block it takes the slab by compare-and-exchange.
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

/* Whether the word names this heap, which may be NULL, with or without a mark. */
static inline bool owner_is(const struct heap *owner_word, const struct heap *heap)
{
    return ((uintptr_t)owner_word ^ (uintptr_t)heap) <= OWNER_MARKS;
}

/* By the heap's thread, for a slab that it just freed a block of. */
static inline void owner_take_back_freeing(struct heap *heap, struct chunk *slab)
{
    atomic_store_explicit(&slab->owner, heap, memory_order_relaxed);
}

/* By the heap's thread, or with arena.lock for an orphan. False: it was not set aside, or is
   swept. */
static inline bool owner_take_back(struct heap *heap, struct chunk *slab)
{
    struct heap *word = owner_marked(heap, OWNER_SET_ASIDE);

    return atomic_compare_exchange_strong(&slab->owner, &word, heap);
}

/* Whether others have freed every block of the slab, since its heap collected what they did. */
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
 * With arena.lock. Takes a slab that is set aside for good, if all its blocks were freed. It is
 * looked at twice: what the first look saw may be over when the slab gets its mark, with the blocks
 * handed out again and the slab set aside again. If the mark is still there after the second look,
 * the heap's thread did not take the slab back before these blocks were freed, for then they would
 * have been handed out after that, and who frees them releases what he saw; and it cannot do so
 * now, having none of them.
 */
static inline bool owner_take_to_release(struct chunk *slab)
{
    struct heap *word = atomic_load(&slab->owner), *heap = owner_heap(word);
    struct heap *swept = owner_marked(heap, OWNER_SWEPT);

    if (word != owner_marked(heap, OWNER_SET_ASIDE) || !all_are_freed(slab) ||
        !atomic_compare_exchange_strong(&slab->owner, &word, swept))
        return false;
    if (all_are_freed(slab) && atomic_load(&slab->owner) == swept)
        return true;
    (void)atomic_compare_exchange_strong(&slab->owner, &swept, owner_marked(heap, OWNER_SET_ASIDE));
    return false;
}

#endif
