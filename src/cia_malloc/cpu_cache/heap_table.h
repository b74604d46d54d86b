/*
 * SPDX-License-Identifier: MIT
 *
 * Which sub-heap does this thread use now? One a CPU, made when a thread first allocates there, and
 * as many spare ones at most for threads that find theirs taken. When all are taken a thread waits:
 * it spins, then sleeps for the one of its CPU. So a thread that is stopped while it holds a
 * sub-heap delays others, for that one alone: they go on with whatever other one they can get.
 */
#ifndef MPLACE_CIA_HEAP_TABLE_H
#define MPLACE_CIA_HEAP_TABLE_H

#include "base/current_cpu.h"
#include "cia_malloc/cpu_cache/magazine.h"
#include "cia_malloc/heap/subheap.h"

enum {
    /* No more than there are CPUs in use, but for signal handlers that allocate above a thread in
       the allocator. */
    SPARE_HEAPS = 256,
    ALL_HEAPS = CPU_HEAPS + SPARE_HEAPS,
};

/*
 * NULL until first used; then constant, for ever (but see fork in heap_table.c): a sub-heap is
 * never destroyed. Published by compare-and-swap (release), read with acquire.
 */
extern _Atomic(struct subheap *) heap_table[ALL_HEAPS];

/* The sub-heap of this CPU, not locked; NULL when there is none yet. */
static inline struct subheap *heap_of_this_cpu(void)
{
    return atomic_load_explicit(&heap_table[current_cpu() % CPU_HEAPS], memory_order_acquire);
}

/* Locks a sub-heap for this thread. NULL when there is none and no memory to make one. */
struct subheap *heap_acquire_slow(void);

static inline struct subheap *heap_acquire(void)
{
    struct subheap *heap = heap_of_this_cpu();

    if (__builtin_expect(heap != NULL && subheap_try_lock(heap), 1))
        return heap;
    return heap_acquire_slow();
}

/*
 * The sub-heap of this CPU, locked; NULL when another thread holds it. It is made if there is none
 * yet, for a thread that only frees: without magazines there, each block would be returned by
 * itself.
 */
static inline struct subheap *heap_try_lock_here(void)
{
    struct subheap *heap = heap_of_this_cpu();

    if (__builtin_expect(heap == NULL, 0))
        return heap_acquire();
    return subheap_try_lock(heap) ? heap : NULL;
}

/* The sub-heap of this CPU if it has magazines; constant, not locked. */
static inline struct subheap *heap_with_magazines(void)
{
    struct subheap *heap = heap_of_this_cpu();

    return __builtin_expect(heap != NULL, 1) && heap->magazines != NULL ? heap : NULL;
}

/*
 * The next existing sub-heap from number *index on and before end, locked, waiting a bounded time
 * for its holder; *index is moved behind it. NULL when there is none. One whose holder does not let
 * go is passed over and counted in *passed_over.
 */
struct subheap *heap_lock_next(uint32_t *index, uint32_t end, uint32_t *passed_over);

/* The magazine of the class, for the holder of the lock, where it is under the lock and the class
   has one; else NULL. Counts a use. */
static inline struct magazine *magazine_under_lock(struct subheap *heap, unsigned size_class)
{
    if (heap->magazines == NULL || !class_is_cached(size_class) ||
        !magazine_use(heap->magazines, size_class))
        return NULL;
    /* With sequences, this is a thread that may not use them. */
    return magazines_use_sequences() ? NULL : &heap->magazines->own[size_class];
}

/* Blocks of the class that wait in magazines of any CPU; roughly, where those are at work. */
uint64_t heap_cached_blocks(unsigned size_class);

/* Registers what fork needs. Called from the constructor. */
void heap_table_register_fork(void);

#endif
