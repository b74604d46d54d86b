/*
 * SPDX-License-Identifier: MIT
 *
 * A thread's heap: for each size class a current slab, a chunk cut into blocks, and those with free
 * blocks besides. The owner takes and gives blocks without a lock or an atomic instruction. Another
 * thread that frees a block sets its bit in the slab's second half of bits and, unless that was
 * done, pushes the slab on the owner's stack of notified slabs.
 *
 * A full slab that its heap does not allocate from is set aside: its owner word is marked. The
 * heap's thread takes it back when one of its blocks is freed; where memory is short, another
 * thread takes it that finds that others have freed them all, and it goes back to the pool. So what
 * a thread allocated and others freed does not stay with it while it sleeps. See owner_word.h.
 *
 * A heap has one set of colours for ever. When its thread ends, or gets other colours, a thread
 * that begins with this set takes it over with all that is in it: so a slab never changes its
 * owner.
 */
#ifndef MPLACE_BANK_HEAP_H
#define MPLACE_BANK_HEAP_H

#include "bank_malloc/heap/owner_word.h"
#include "bank_malloc/heap/refill.h"
#include "bank_malloc/heap/size_class.h"

struct heap {
    struct colour_set set;
    uint32_t turn;
    uint32_t elsewhere;    /* refills in a row on a CPU with other colours */
    struct heap *next;     /* of all heaps */
    atomic_bool is_orphan; /* no thread has it */
    _Atomic(struct chunk *) notified;
    struct chunk *current[CLASSES_MOST]; /* never NULL: see no_slab */
    struct chunk *partial[CLASSES_MOST];
};

/* This thread's; NULL: it has none yet. Initial-exec: no allocation at first use. */
extern _Thread_local struct heap *heap_of_thread __attribute__((tls_model("initial-exec")));

extern unsigned heap_modes; /* BANK_MODE */
extern bool heap_follows;   /* BANK_FOLLOW */

/* Takes over an orphan with these colours, or makes one; NULL: out of memory. Takes arena.lock. */
struct heap *heap_adopt(struct colour_set set);

/* The thread leaves it: what is free goes back to the pool. Takes arena.lock. */
void heap_abandon(struct heap *heap);

/*
 * BANK_FOLLOW=1: the thread is about to take chunks. If it was on CPUs with other colours than the
 * heap's eight times in a row, it is taken to have moved for good: heap_of_thread becomes NULL, so
 * that its next allocation finds it a heap for where it is.
 */
void heap_follow(struct heap *heap);

/* Every slab of this thread's heap without a block in use goes back to the pool. Caller holds
   arena.lock. */
void heap_shed(struct heap *heap);

/*
 * The same of heaps without a thread that a block came back to; and, unless orphans_only, of all
 * others the slabs that are set aside and have no block in use. Caller holds arena.lock. The latter
 * takes as long as there are slabs to which blocks came back since they were drained.
 */
void heap_sweep(bool orphans_only);

/* In the child of a fork: there is no heap. What the parent's threads were doing with theirs when
   it forked is not known; from their slabs nothing is taken, and each goes with its last block. */
void heap_start_child(void);

/* When the current slab of the class has no block where the owner looked; NULL: out of memory. */
void *heap_refill(struct heap *heap, unsigned class);

/* The slow parts of heap_give: the slab was full, or is empty now; it is another heap's. */
void heap_record_free(struct heap *heap, struct chunk *slab);
void heap_free_remote(struct chunk *slab, uint32_t index);

/* Ends the process with one line that names the address. */
_Noreturn void heap_misuse(const void *block, const char *what);

static inline void *heap_take(struct heap *heap, unsigned class)
{
    struct chunk *slab = heap->current[class];
    uint64_t free_blocks = slab->bits[slab->word];

    if (__builtin_expect(free_blocks == 0, 0))
        return heap_refill(heap, class);
    slab->bits[slab->word] = free_blocks & (free_blocks - 1);
    slab->used++;
    return slab->base +
           (size_t)(slab->word * 64u + (unsigned)__builtin_ctzll(free_blocks)) * slab->size;
}

/* Which block of the slab begins there; the process ends if none does. */
static inline uint32_t slab_index(const struct chunk *slab, const void *block)
{
    uint64_t offset = (uint64_t)((const char *)block - slab->base);
    uint32_t index = (uint32_t)(offset * slab->reciprocal >> 32);

    if (__builtin_expect(index * slab->size != offset || index >= slab->blocks, 0))
        heap_misuse(block, "is not the beginning of a block");
    return index;
}

/* heap: of this thread, or NULL. */
static inline void heap_give(struct heap *heap, struct chunk *slab, const void *block)
{
    uint32_t index = slab_index(slab, block);

    if (__builtin_expect(!owner_is(atomic_load_explicit(&slab->owner, memory_order_relaxed), heap),
                         0)) {
        heap_free_remote(slab, index);
        return;
    }
    uint64_t *word = &slab->bits[index / 64], bit = (uint64_t)1 << index % 64;
    uint64_t remote = atomic_load_explicit(&chunk_remote(slab)[index / 64], memory_order_relaxed);
    if (__builtin_expect(((*word | remote) & bit) != 0, 0))
        heap_misuse(block, "is free already");
    *word |= bit;
    if (__builtin_expect(slab->used == slab->blocks || slab->used == 1, 0)) {
        heap_record_free(heap, slab);
        return;
    }
    slab->used--;
}

#endif
