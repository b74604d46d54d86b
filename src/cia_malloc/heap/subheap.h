/*
 * SPDX-License-Identifier: MIT
 *
 * A sub-heap: the class heaps and chunks of one CPU, behind one lock.
 *
 * Who may do what:
 *   the holder of the lock        everything, the magazines too where there are no sequences
 *   anyone, without it            read constants, and push freed blocks: subheap_free_remote
 *
 * A thread that finds the lock taken goes elsewhere if it can: malloc to another sub-heap
 * (heap_acquire in heap_table.h), free to the remote words. It waits only when it holds no lock, or
 * holds one below a signal handler and waits for another. The kernel is not asked for anything
 * under the lock, but for the store of a magazine, once a class and CPU; so it is held for
 * microseconds, unless its holder is preempted or stopped.
 */
#ifndef MPLACE_CIA_SUBHEAP_H
#define MPLACE_CIA_SUBHEAP_H

#include "base/futex.h"
#include "base/siphash.h"
#include "cia_malloc/heap/size_classes/cached_block.h"
#include "cia_malloc/heap/colours/class_heap.h"
#include "cia_malloc/pages/page_heap.h"
#include "cia_malloc/pages/purge.h"

struct magazines;
struct quarantine;

enum {
    LARGE_CURSORS = 64,
    LARGE_GREATEST_PAGES = 128, /* 512 KiB: eight to a chunk; longer blocks have a mapping each */
};

struct subheap {
    /*
     * 0: free, else subheap_self() of the holder, with SUBHEAP_AWAITED once a thread has spun for
     * it in vain. Taken by compare-and-swap (acquire), released by a store (release): the holder
     * sees all that the holder before it wrote. sleepers: threads that sleep for it, or have since
     * and do not run yet.
     */
    _Alignas(LINE_BYTES) _Atomic uint32_t lock;
    _Atomic uint32_t sleepers;
    uint32_t number; /* constant: its place in the heap table */
    uint32_t uses;   /* of magazines under the lock */
    /* Threads that gave up the lock to ask the kernel for a chunk, and will take it again: fork
       must not hold it from them, see fork.c. relocker: the last one that gave it up, by its thread
       pointer, until it has it again. Under the lock. */
    uint32_t relocking;
    void *relocker;
    bool held_for_fork; /* see fork.c */
    struct page_heap pages;
    uint32_t large_live; /* large blocks handed out */
    uint64_t large_allocations;
    uint64_t large_pages_live;

    /* Spans with blocks that other threads freed: see remote_free/inbox.c. */
    struct {
        /* Newest first: pushed by compare-and-swap from any thread, taken whole by exchange under
           the lock. */
        _Alignas(LINE_BYTES) _Atomic(struct span_remote *) newest;
        atomic_size_t bytes; /* freed since it was last taken: bounds what lies in it */
    } inbox;

    _Alignas(LINE_BYTES) uint8_t large_colour[LARGE_CURSORS];
    struct class_heap classes[SIZE_CLASS_COUNT];

    struct subheap *full_inbox; /* one that has waited for the end of the holder's work, or NULL */

    /* NULL for a spare sub-heap. Constant. What is in them is not under the lock if magazines are
       worked on by sequences, see magazine.h. */
    struct magazines *magazines;

    /* With CIA_HARDEN=1, from the first block on. */
    struct quarantine *quarantine;
    struct siphash_key order; /* of what is drawn; 0: none yet */
    uint64_t drawn, numbers;  /* so often; those drawn together with the last one */
};

/* NULL when out of memory. Its blocks are to lie on the memory node: heap->pages.node. */
struct subheap *subheap_create(uint32_t number, uint8_t node);

/* In the lock: this holder has it for longer than a thread that runs. Who comes does not spin for
   it, and its release wakes a sleeper. */
enum { SUBHEAP_AWAITED = 2 };

/* The calling thread, never 0, without the mark: thread pointers are more than 256 B apart. Threads
   256 GiB of address space apart may have the same number: a thread that finds its own may be
   wrong, one that finds another is right. */
static inline uint32_t subheap_self(void)
{
    return ((uint32_t)((uintptr_t)__builtin_thread_pointer() >> 6) & ~(uint32_t)SUBHEAP_AWAITED) |
           1;
}

/* Whether this thread holds it: below us, if we are a signal handler. */
static inline bool subheap_is_ours(const struct subheap *heap)
{
    return (atomic_load_explicit(&heap->lock, memory_order_relaxed) & ~(uint32_t)SUBHEAP_AWAITED) ==
           subheap_self();
}

static inline bool subheap_try_lock(struct subheap *heap)
{
    uint32_t expected = 0;

    /* Pairs with the release in subheap_unlock. The plain read first: a failing exchange would take
       the line away from the holder. */
    return atomic_load_explicit(&heap->lock, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&heap->lock, &expected, subheap_self(),
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Takes the lock if it can be had by spinning for it, for longer than a thread that runs holds it.
 */
bool subheap_lock_by_spinning(struct subheap *heap);

enum { SUBHEAP_SLEEP_NS = 1000000 }; /* at most, before a sleeper among few looks again */

/* The same, or by sleeping once. Not for the holder. in_turn: by a thread that has nothing else to
   do; among many sleepers it sleeps longer. */
bool subheap_lock_soon(struct subheap *heap, bool in_turn);

/* Gives up the lock while there is work that waits for it, and does that. */
void subheap_unlock_and_work(struct subheap *heap);

/* A mark that is set between the look and the store is lost: the sleeper is not woken, and looks
   again when its time is over. */
static inline void subheap_release(struct subheap *heap)
{
    uint32_t held = atomic_load_explicit(&heap->lock, memory_order_relaxed);

    atomic_store_explicit(&heap->lock, 0, memory_order_release);
    if (__builtin_expect((held & SUBHEAP_AWAITED) != 0, 0))
        futex_wake_one((int *)(void *)&heap->lock);
}

static inline void subheap_unlock(struct subheap *heap)
{
    if (__builtin_expect(page_work_is_there(&heap->pages) || heap->full_inbox != NULL, 0))
        subheap_unlock_and_work(heap);
    else
        subheap_release(heap);
}

/* The caller of the functions below must hold the lock. */

/*
 * Makes the class heap have a block to hand out where it has none: drains the inbox, looks further,
 * takes new memory, for which the lock may be given up and taken again. False when out of memory.
 */
bool subheap_find(struct subheap *heap, unsigned size_class);

/*
 * Takes blocks of the class for a magazine, at least one and at most so many: those that as many
 * calls of subheap_allocate would take, in that order, but of an exclusive class none of the same
 * colour twice, and new memory is taken for the first one only. The first one is stored below end,
 * the others below that: as they lie in a stack. Returns how many; 0 when out of memory. Bit 0 of
 * each is MAGAZINE_UNTOUCHED.
 */
uint32_t subheap_load(struct subheap *heap, unsigned size_class, char **end, uint32_t most);

/* A block of the class; NULL when out of memory. *untouched: it reads as zero. */
void *subheap_allocate(struct subheap *heap, unsigned size_class, bool *untouched);

/* Says which block of the span was freed twice, and aborts. */
_Noreturn void subheap_double_free(const struct span *span, uint64_t bits);

/* See class_heap_reconcile; releases the run if that says so. */
void subheap_reconcile(struct subheap *heap, struct span *span);

/* Puts a large block's run back. */
void subheap_free_large(struct subheap *heap, struct span *span);

/*
 * Puts back blocks of a span; class_heap is that of the span's class in this sub-heap, which a
 * caller with many of one class knows without waiting for the span's line. The process ends if one
 * of them is free already: it was freed twice.
 */
static inline void subheap_put(struct subheap *heap, struct class_heap *class_heap,
                               struct span *span, uint64_t bits)
{
    if (__builtin_expect((span->free & bits) != 0, 0))
        subheap_double_free(span, span->free & bits);
    if (__builtin_expect(class_heap_put(class_heap, span, bits), 0))
        subheap_reconcile(heap, span);
}

/* The same of any span of this sub-heap. */
static inline void subheap_free_local(struct subheap *heap, struct span *span, uint64_t bits)
{
    if (__builtin_expect(span->size_class != CLASS_LARGE, 1))
        subheap_put(heap, &heap->classes[span->size_class], span, bits);
    else
        subheap_free_large(heap, span);
}

/*
 * Without the lock of the sub-heap that owns the chunk: gives it blocks of a span, so many bytes.
 * The process ends if one of them is free already. Drains the owner when its inbox is full; locked:
 * another sub-heap whose lock the caller has, or NULL; with one, the drain waits until that lock is
 * given up. One atomic or on a line that the owner does not work on, and a push for the first of a
 * span's batch.
 */
void subheap_free_remote(struct subheap *locked, struct chunk *chunk, uint32_t span_index,
                         uint64_t bits, size_t bytes);

/* Without the lock: whether there is anything to drain. */
static inline bool subheap_has_inbox(const struct subheap *heap)
{
    return atomic_load_explicit(&heap->inbox.newest, memory_order_relaxed) != NULL;
}

/* Takes over what other threads freed. */
void subheap_drain(struct subheap *heap);

/* Without the lock: the same if the lock can be had at once. Otherwise its holder, or the next
   thread that finds the inbox full, does it. */
void subheap_drain_soon(struct subheap *heap);

/*
 * Chooses everything to be given back that is not in use: idle runs, dirty pages, empty chunks; it
 * goes when the lock is given up. inside_runs: at once, too, the pages among live blocks that no
 * live block is on. True if there was any.
 */
bool subheap_trim(struct subheap *heap, bool inside_runs);

/*
 * Where a class finds no memory: makes idle runs of other classes pages for any. False, and nothing
 * done, when that was tried a few milliseconds ago and brought none.
 */
bool subheap_gather_pages(struct subheap *heap);

/* Once, before the first sub-heap: how far runs go through the L2 before they repeat. Idempotent.
 */
void subheap_initialise(uint32_t l2_sets);

#endif
