/*
 * SPDX-License-Identifier: MIT
 *
 * Which sub-heap does this thread use now? One a CPU, made when a thread first allocates there; the
 * first of them alone while the process has one thread; and as many spare ones at most for threads
 * that find theirs taken. When all are taken a thread waits: it spins, then sleeps for the one of
 * its CPU. So a thread that is stopped while it holds a sub-heap delays others, for that one alone:
 * they go on with whatever other one they can get.
 */
#ifndef MPLACE_CIA_HEAP_TABLE_H
#define MPLACE_CIA_HEAP_TABLE_H

#include "base/current_cpu.h"
#include "cia_malloc/cpu_cache/magazine.h"
#include "cia_malloc/heap/subheap.h"

#include <sys/single_threaded.h>

enum {
    /* No more than there are CPUs in use, but for signal handlers that allocate above a thread in
       the allocator. */
    SPARE_HEAPS = 256,
    ALL_HEAPS = CPU_HEAPS + SPARE_HEAPS,
};

/*
 * NULL until first used; then constant, for ever (but see heap_table_put_in_order): a sub-heap is
 * never destroyed. Published by compare-and-swap (release), read with acquire.
 */
extern _Atomic(struct subheap *) heap_table[ALL_HEAPS];

/* The sub-heap of this CPU, not locked; NULL when there is none yet. */
static inline struct subheap *heap_of_this_cpu(void)
{
    return atomic_load_explicit(&heap_table[current_cpu() % CPU_HEAPS], memory_order_acquire);
}

/*
 * The sub-heap that serves the whole process while it has one thread: the first of a CPU that was
 * made. A thread that the kernel moves from CPU to CPU so leaves no memory behind on each. NULL
 * until made, and where magazines are worked on under the sub-heap's lock, which ties them to it.
 * Published and read as heap_table.
 */
extern _Atomic(struct subheap *) heap_of_one_thread;

/*
 * The sub-heap that a thread on the CPU of the given one, or NULL, allocates from: that one, or the
 * process's if it has one thread and the memory node is the same. What libc says of threads is a
 * hint: some may have been made without it.
 */
static inline struct subheap *heap_to_allocate_from(struct subheap *here)
{
    struct subheap *one;

    if (!__libc_single_threaded || here == NULL)
        return here;
    one = atomic_load_explicit(&heap_of_one_thread, memory_order_acquire);
    return one != NULL && one->pages.node == here->pages.node ? one : here;
}

/* Locks a sub-heap for this thread. NULL when there is none and no memory to make one. */
struct subheap *heap_acquire_slow(void);

static inline struct subheap *heap_acquire(void)
{
    struct subheap *heap = heap_to_allocate_from(heap_of_this_cpu());

    if (__builtin_expect(heap != NULL && subheap_try_lock(heap), 1))
        return heap;
    return heap_acquire_slow();
}

/*
 * The same if it can be had at once; NULL when another thread holds it. That of this CPU is made if
 * there is none yet, for a thread that only frees: without magazines there, each block would be
 * returned by itself.
 */
static inline struct subheap *heap_try_acquire(void)
{
    struct subheap *heap = heap_to_allocate_from(heap_of_this_cpu());

    if (__builtin_expect(heap == NULL, 0))
        return heap_acquire();
    return subheap_try_lock(heap) ? heap : NULL;
}

/*
 * The next existing sub-heap from number *index on and before end, both modulo ALL_HEAPS, locked,
 * waiting a bounded time for its holder; *index is moved behind it. NULL when there is none. One
 * whose holder does not let go is passed over and counted in *passed_over.
 */
struct subheap *heap_lock_next(uint32_t *index, uint32_t end, uint32_t *passed_over);

/*
 * For the holder of a sub-heap that heap_acquire gave: counts a use of the class, whose blocks are
 * cached, in the magazines that go with it. With one thread those are this CPU's, whose sub-heap
 * may be another one. The class's magazine there if it is open, else NULL. with_load: the magazine
 * is to be loaded, so its ceiling may rise.
 */
struct magazine *heap_count_use(struct subheap *heap, unsigned size_class, bool with_load);

/* The magazine of the class, for the holder of the lock, where it is under the lock and the class
   has one; else NULL. Counts a use. */
static inline struct magazine *magazine_under_lock(struct subheap *heap, unsigned size_class)
{
    struct magazine *open =
        class_is_cached(size_class) ? heap_count_use(heap, size_class, false) : NULL;

    /* With sequences, this is a thread that may not use them. */
    return magazines_use_sequences() ? NULL : open;
}

/* Blocks of the class that wait in magazines of any CPU; roughly, where those are at work. */
uint64_t heap_cached_blocks(unsigned size_class);

/* Notes that the table is this process's: a thread that waits in vain does not put it in order. */
void heap_table_adopt(void);

/*
 * In the child of a fork: takes what is locked out of the table, for those who hold it are not
 * here; its blocks stay valid, what is freed to it is not used again. alone: this thread is the
 * only one, holds nothing, and takes back the work that the others had in hand.
 */
void heap_table_put_in_order(bool alone);

#endif
