/*
 * SPDX-License-Identifier: MIT
 *
 * Making, finding and, around fork, holding the sub-heaps; see heap_table.h.
 */
#include "cia_malloc/heap_table.h"

#include "base/cache_geometry.h"
#include "base/memory_nodes.h"
#include "base/settings.h"
#include "cia_malloc/harden.h"
#include "cia_malloc/tiny.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

_Atomic(struct subheap *) heap_table[ALL_HEAPS];

static bool sequences_can_be_used(void)
{
#ifdef __SANITIZE_THREAD__
    return false; /* the sanitizer does not see what a sequence orders */
#else
    bool wanted = setting_switch("CIA_RSEQ", 1);

    /* With CIA_HARDEN=1 no thread may: so the fast paths, which ask that anyway, are never taken.
     */
    return wanted && !harden_is_on() && rseq_is_registered() && rseq_cpu() >= 0;
#endif
}

/*
 * Tables that depend on the machine, computed by whoever allocates first: no constructor need have
 * run. Threads that race compute and store the same; the flag is released after the tables.
 */
static void initialise_once(void)
{
    static atomic_bool done;

    if (!atomic_load_explicit(&done, memory_order_acquire)) {
        struct cache_geometry geometry;

        cache_geometry_read(&geometry);
        size_class_initialise(geometry.l1d.sets);
        subheap_initialise(geometry.l2.sets);
        decay_read_setting();
        page_heap_read_setting();
        magazines_choose(sequences_can_be_used(), memory_node_count());
        tiny_choose(setting_switch("CIA_TINY", 0) && !harden_is_on());
        atomic_store_explicit(&done, true, memory_order_release);
    }
}

/*
 * The magazines of a CPU stay when its sub-heap is replaced after a fork. False when out of memory.
 */
static bool give_magazines(struct subheap *heap)
{
    struct magazines *magazines = magazines_create(heap->pages.node);

    if (magazines == NULL)
        return false;
    heap->magazines = magazines_publish(heap->number, magazines);
    if (heap->magazines != magazines)
        magazines_destroy(magazines);
    return true;
}

static struct subheap *heap_make(uint32_t number, uint8_t node)
{
    struct subheap *expected = NULL;
    struct subheap *heap;

    initialise_once();
    heap = subheap_create(number, node);
    if (heap == NULL)
        return atomic_load_explicit(&heap_table[number], memory_order_acquire);
    if (number < CPU_HEAPS && !give_magazines(heap)) {
        page_source_unmap_metadata(heap, sizeof *heap);
        return NULL;
    }
    if (!atomic_compare_exchange_strong_explicit(&heap_table[number], &expected, heap,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        if (!magazines_use_sequences())
            magazines_destroy(heap->magazines);
        page_source_unmap_metadata(heap, sizeof *heap);
        heap = expected;
    }
    return heap;
}

enum { ANY_NODE = UINT8_MAX + 1 };

/* Sub-heap of the number, locked, if it is there, is of the node, and nobody holds it. */
static struct subheap *try_number(uint32_t number, uint32_t node)
{
    struct subheap *heap = atomic_load_explicit(&heap_table[number], memory_order_acquire);

    return heap != NULL && (node == ANY_NODE || heap->pages.node == node) && subheap_try_lock(heap)
               ? heap
               : NULL;
}

/*
 * When the kernel last refused the memory of a sub-heap to a process that has others, or 0: for a
 * while none is asked for, or as memory ends each call on a CPU without one would ask. Relaxed: a
 * hint.
 */
static _Atomic uint64_t refused_at;
static atomic_bool has_any; /* relaxed: likewise */

static void note_whether_made(bool made)
{
    if (made)
        atomic_store_explicit(&has_any, true, memory_order_relaxed);
    else if (atomic_load_explicit(&has_any, memory_order_relaxed))
        atomic_store_explicit(&refused_at, decay_clock(), memory_order_relaxed);
}

/* The same; made for the node if it is not there. */
static struct subheap *try_or_make(uint32_t number, uint8_t node)
{
    /* Made, or another thread does, perhaps for another node. */
    if (atomic_load_explicit(&heap_table[number], memory_order_acquire) == NULL &&
        !decay_is_recent(atomic_load_explicit(&refused_at, memory_order_relaxed)))
        note_whether_made(heap_make(number, node) != NULL);
    return try_number(number, node);
}

/*
 * The memory node of a CPU: as its sub-heap was made for, so that they agree when the machine
 * changes.
 */
static uint8_t node_of(uint32_t cpu)
{
    struct subheap *heap = atomic_load_explicit(&heap_table[cpu], memory_order_acquire);

    return heap != NULL ? heap->pages.node : memory_node_of_cpu(cpu);
}

struct subheap *heap_acquire_slow(void)
{
    /* How often to look again when every sub-heap is taken and there is no memory for another. */
    enum { TRIES_WITHOUT_MEMORY = 1000 };

    for (uint32_t tries = 0;;) {
        bool out_of_memory = false;
        uint32_t cpu = current_cpu() % CPU_HEAPS;
        uint8_t node = node_of(cpu);
        struct subheap *heap = try_or_make(cpu, node);

        /* Obstructed: the holder was preempted or stopped, or is below us in a signal handler. The
           same few spare ones first, so that there are as few as threads were ever obstructed at
           once. Each is of the node of the thread that made it, and for threads of that node. */
        for (uint32_t i = CPU_HEAPS; heap == NULL && i < ALL_HEAPS; i++) {
            heap = try_or_make(i, node);
            out_of_memory =
                heap == NULL && atomic_load_explicit(&heap_table[i], memory_order_relaxed) == NULL;
            if (out_of_memory)
                break;
        }
        /* Out of memory for a new sub-heap, or hundreds of threads stopped: any other will do, one
           of this node rather than another. */
        bool exists = false;
        for (uint32_t i = 0; heap == NULL && i < 2 * ALL_HEAPS; i++) {
            exists |=
                atomic_load_explicit(&heap_table[i % ALL_HEAPS], memory_order_relaxed) != NULL;
            heap = try_number(i % ALL_HEAPS, i < ALL_HEAPS ? node : ANY_NODE);
        }
        if (heap != NULL || !exists)
            return heap;
        /* The holder may be this very thread, below us in a signal handler: waiting would not end.
         */
        if (out_of_memory && ++tries == TRIES_WITHOUT_MEMORY)
            return NULL;
        sched_yield();
    }
}

/* True if what was tried came about within some 20 ms. */
static bool try_patiently(bool (*attempt)(struct subheap *heap), struct subheap *heap)
{
    enum { TRIES = 1000 };
    static const struct timespec pause = {.tv_nsec = 20 * 1000};

    for (int i = 0; i < TRIES; i++) {
        if (attempt(heap))
            return true;
        if (i % 16 == 15)
            nanosleep(&pause, NULL); /* who is in the way may wait for this CPU */
    }
    return false;
}

struct subheap *heap_lock_next(uint32_t *index, uint32_t end, uint32_t *passed_over)
{
    while (*index < end) {
        struct subheap *heap = atomic_load_explicit(&heap_table[(*index)++], memory_order_acquire);

        if (heap == NULL)
            continue;
        if (try_patiently(subheap_try_lock, heap))
            return heap;
        ++*passed_over;
    }
    return NULL;
}

/*
 * Fork. The child has one thread; a sub-heap whose holder was another thread would stay locked in
 * it for ever, and be in the middle of a change. So the forking thread holds the CPUs' sub-heaps,
 * and their magazines, across fork, and in the child they are whole. It must not hold the spare
 * ones: between our handler and the fork proper libc takes locks of its own (stdio's), and a thread
 * that holds one of those may want memory before it lets go. Such a thread finds a spare sub-heap.
 *
 * The forking thread gives up on a holder that does not move: one that is stopped, or itself,
 * interrupted by the signal handler that forks. In the child, what is still locked by then (such a
 * one, or a spare one in use) is taken out of the table: its blocks stay valid, what is freed to it
 * is not used again.
 */
static uint64_t held_for_fork[CPU_HEAPS / 64];
/* The thread between before_fork and after_fork, by its thread pointer, which the child shares.
   Claimed by compare-and-swap from NULL; held_for_fork and forks_inside are that thread's. */
static _Atomic(void *) fork_holder;
static uint32_t forks_inside; /* from signal handlers while this thread holds the sub-heaps */

static bool claim_fork(void *self)
{
    enum { TRIES = 1000 };
    static const struct timespec pause = {.tv_nsec = 100 * 1000};

    for (int i = 0; i < TRIES; i++) {
        void *expected = NULL;

        if (atomic_compare_exchange_strong_explicit(&fork_holder, &expected, self,
                                                    memory_order_acquire, memory_order_relaxed))
            return true;
        if (expected == self) {
            forks_inside++;
            return false;
        }
        nanosleep(&pause, NULL); /* another thread forks: let it */
    }
    return false; /* forks without holding: the child passes by what is locked */
}

static void before_fork(void)
{
    uint32_t index = 0, passed_over = 0;
    struct subheap *heap;

    if (!claim_fork(__builtin_thread_pointer()))
        return;
    while ((heap = heap_lock_next(&index, CPU_HEAPS, &passed_over)) != NULL) {
        held_for_fork[heap->number / 64] |= (uint64_t)1 << heap->number % 64;
    }
}

static void release_after_fork(void)
{
    if (atomic_load_explicit(&fork_holder, memory_order_relaxed) != __builtin_thread_pointer())
        return;
    if (forks_inside > 0) {
        forks_inside--;
        return;
    }
    for (uint32_t i = 0; i < CPU_HEAPS; i++) {
        if ((held_for_fork[i / 64] >> i % 64 & 1) != 0)
            subheap_unlock(atomic_load_explicit(&heap_table[i], memory_order_relaxed));
    }
    for (uint32_t i = 0; i < CPU_HEAPS / 64; i++)
        held_for_fork[i] = 0;
    atomic_store_explicit(&fork_holder, NULL, memory_order_release);
}

static void after_fork_in_child(void)
{
    bool mine =
        atomic_load_explicit(&fork_holder, memory_order_relaxed) == __builtin_thread_pointer();
    bool nested = mine && forks_inside > 0;

    magazines_after_fork();
    release_after_fork();
    if (nested)
        return; /* the code that this handler interrupted still holds the others */
    forks_inside = 0;
    /* Another thread may have been forking: it is not here, and what it held is dropped below. */
    for (uint32_t i = 0; i < CPU_HEAPS / 64; i++)
        held_for_fork[i] = 0;
    atomic_store_explicit(&fork_holder, NULL, memory_order_relaxed);
    for (uint32_t i = 0; i < ALL_HEAPS; i++) {
        struct subheap *heap = atomic_load_explicit(&heap_table[i], memory_order_relaxed);

        if (heap != NULL && atomic_load_explicit(&heap->lock, memory_order_relaxed) != 0)
            atomic_store_explicit(&heap_table[i], NULL, memory_order_relaxed);
    }
}

void heap_table_register_fork(void)
{
    pthread_atfork(before_fork, release_after_fork, after_fork_in_child);
}
