/*
 * SPDX-License-Identifier: MIT
 *
 * See heap_table.h.
 */
#include "cia_malloc/cpu_cache/heap_table.h"

#include "base/cache_geometry.h"
#include "base/futex.h"
#include "base/memory_nodes.h"
#include "base/settings.h"
#include "cia_malloc/pages/allocator_mode.h"

#include <sched.h>

_Atomic(struct subheap *) heap_table[ALL_HEAPS];
_Atomic(struct subheap *) heap_of_one_thread;

/* How many were published. Relaxed: a bound, see acquire_spare. */
static _Atomic uint32_t cpu_heap_count, spare_heap_count;

/*
 * Behind the highest number of a CPU's sub-heap, and of a spare one. Raised before that is
 * published: a sub-heap that can be locked is found. Relaxed: the publication orders them.
 */
static _Atomic uint32_t cpu_heaps_end, spare_heaps_end = CPU_HEAPS;

static void raise_to(_Atomic uint32_t *end, uint32_t value)
{
    uint32_t known = atomic_load_explicit(end, memory_order_relaxed);

    while (known < value && !atomic_compare_exchange_weak_explicit(
                                end, &known, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* For a thread that has no time for a thousand empty places: the next number that there may be a
   sub-heap of, from *number on. False: there are no more. */
static bool find_number(uint32_t *number)
{
    if (*number < CPU_HEAPS &&
        *number >= atomic_load_explicit(&cpu_heaps_end, memory_order_relaxed))
        *number = CPU_HEAPS;
    return *number < CPU_HEAPS ||
           *number < atomic_load_explicit(&spare_heaps_end, memory_order_relaxed);
}

/* The process that the table was last put in order for. */
static _Atomic int32_t table_process;

static int32_t this_process(void)
{
    return (int32_t)system_call_6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

void heap_table_adopt(void)
{
    atomic_store_explicit(&table_process, this_process(), memory_order_relaxed);
}

static bool sequences_can_be_used(void)
{
#ifdef __SANITIZE_THREAD__
    return false; /* the sanitizer does not see what a sequence orders */
#else
    /* With CIA_HARDEN=1 no thread may: so the fast paths, which ask that anyway, are never taken.
     */
    return setting_switch("CIA_RSEQ", 1) && !harden_is_on() && rseq_is_registered() &&
           rseq_cpu() >= 0;
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
        size_class_read_setting();
        subheap_initialise(geometry.l2.sets);
        decay_read_setting();
        page_heap_read_setting();
        magazines_choose(sequences_can_be_used(), memory_node_count());
        heap_table_adopt();
        atomic_store_explicit(&done, true, memory_order_release);
    }
}

static struct subheap *heap_make(uint32_t number, uint8_t node)
{
    struct subheap *expected = NULL;
    struct subheap *heap;

    initialise_once();
    heap = subheap_create(number, node);
    if (heap == NULL)
        return atomic_load_explicit(&heap_table[number], memory_order_acquire);
    raise_to(number < CPU_HEAPS ? &cpu_heaps_end : &spare_heaps_end, number + 1);
    if (number < CPU_HEAPS)
        heap->magazines = magazines_provide(number, node);
    if ((number < CPU_HEAPS && heap->magazines == NULL) ||
        !atomic_compare_exchange_strong_explicit(&heap_table[number], &expected, heap,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        if (heap->magazines != NULL && !magazines_use_sequences())
            magazines_destroy(heap->magazines);
        page_source_unmap_metadata(heap, sizeof *heap);
        return atomic_load_explicit(&heap_table[number], memory_order_acquire);
    }
    atomic_fetch_add_explicit(number < CPU_HEAPS ? &cpu_heap_count : &spare_heap_count, 1,
                              memory_order_relaxed);
    if (number < CPU_HEAPS && magazines_use_sequences())
        (void)atomic_compare_exchange_strong_explicit(&heap_of_one_thread, &expected, heap,
                                                      memory_order_acq_rel, memory_order_acquire);
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

/* Made for the node if it is not there; or another thread does, perhaps for another node. */
static void make_if_missing(uint32_t number, uint8_t node)
{
    if (atomic_load_explicit(&heap_table[number], memory_order_acquire) == NULL &&
        !decay_is_recent(atomic_load_explicit(&refused_at, memory_order_relaxed)) &&
        heap_make(number, node) == NULL &&
        atomic_load_explicit(&cpu_heap_count, memory_order_relaxed) != 0)
        atomic_store_explicit(&refused_at, decay_clock(), memory_order_relaxed);
}

/* Whether this thread holds a sub-heap: it is below us, in a signal handler. */
static bool holds_one(void)
{
    for (uint32_t i = 0; find_number(&i); i++) {
        struct subheap *heap = atomic_load_explicit(&heap_table[i], memory_order_acquire);

        if (heap != NULL && subheap_is_ours(heap))
            return true;
    }
    return false;
}

/*
 * A spare one, locked; NULL when all are taken and no more may be made. The same few first. Each is
 * of the node of the thread that made it, and for threads of that node. There are at most as many
 * as sub-heaps of CPUs: so memory goes with the CPUs that are used, however many threads there are.
 * A thread that holds a sub-heap, and so must not wait for others, may have one in any case.
 */
static struct subheap *acquire_spare(uint8_t node, bool must_not_wait, bool *no_memory)
{
    struct subheap *heap = NULL;

    *no_memory = false;
    for (uint32_t i = CPU_HEAPS; heap == NULL && i < ALL_HEAPS; i++) {
        if (atomic_load_explicit(&heap_table[i], memory_order_relaxed) == NULL && !must_not_wait &&
            atomic_load_explicit(&spare_heap_count, memory_order_relaxed) >=
                atomic_load_explicit(&cpu_heap_count, memory_order_relaxed))
            break;
        make_if_missing(i, node);
        heap = try_number(i, node);
        if (heap == NULL && atomic_load_explicit(&heap_table[i], memory_order_relaxed) == NULL) {
            *no_memory = true;
            break;
        }
    }
    return heap;
}

/* Any one that nobody holds, of this node rather than another. *exists: there is one at all. */
static struct subheap *acquire_any(uint8_t node, bool *exists)
{
    const uint32_t nodes[] = {node, ANY_NODE};
    struct subheap *heap = NULL;

    *exists = false;
    for (int pass = 0; heap == NULL && pass < 2; pass++) {
        for (uint32_t i = 0; heap == NULL && find_number(&i); i++) {
            *exists |= atomic_load_explicit(&heap_table[i], memory_order_relaxed) != NULL;
            heap = try_number(i, nodes[pass]);
        }
    }
    return heap;
}

void heap_table_put_in_order(bool alone)
{
    for (uint32_t i = 0; i < ALL_HEAPS; i++) {
        struct subheap *heap = atomic_load_explicit(&heap_table[i], memory_order_relaxed);

        if (heap == NULL)
            continue;
        if (atomic_load_explicit(&heap->lock, memory_order_relaxed) == 0) {
            if (alone) {
                heap->relocking = 0;
                heap->order = (struct siphash_key){0}; /* not the parent's: drawn anew */
                /* Else those who come would sleep for longer. */
                atomic_store_explicit(&heap->sleepers, 0, memory_order_relaxed);
                page_work_after_fork(&heap->pages);
            }
            continue;
        }
        atomic_store_explicit(&heap_table[i], NULL, memory_order_relaxed);
        if (atomic_load_explicit(&heap_of_one_thread, memory_order_relaxed) == heap)
            atomic_store_explicit(&heap_of_one_thread, NULL, memory_order_relaxed);
        atomic_fetch_sub_explicit(i < CPU_HEAPS ? &cpu_heap_count : &spare_heap_count, 1,
                                  memory_order_relaxed);
    }
}

/*
 * For a thread that waits in vain: _Fork runs no handlers, and neither does a raw clone, so in
 * their child sub-heaps may be held by threads that it does not have. One that the child's own
 * threads hold by now may leave the table as well: it is whole, and not used again.
 */
static void check_forked(void)
{
    int32_t process = this_process();
    int32_t known = atomic_load_explicit(&table_process, memory_order_relaxed);

    /* The child of a vfork has another number too, but it is the parent's table. */
    if (process == known || magazine_thread_is_vforked() ||
        !atomic_compare_exchange_strong_explicit(&table_process, &known, process,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    heap_table_put_in_order(false);
}

struct subheap *heap_acquire_slow(void)
{
    /* How often to look again when every sub-heap is taken and there is no memory for another:
       their holder may be a thread that forks, and waits for a lock that this one has. */
    enum { TRIES_WITHOUT_MEMORY = 50 };

    for (int tries = 0;;) {
        uint32_t cpu = current_cpu() % CPU_HEAPS;
        struct subheap *here = atomic_load_explicit(&heap_table[cpu], memory_order_acquire);
        /* As the CPU's sub-heap was made for, so that they agree when the machine changes. */
        uint8_t node = here != NULL ? here->pages.node : memory_node_of_cpu(cpu);
        bool exists, no_memory = false, holder = false;

        make_if_missing(cpu, node);
        struct subheap *wanted =
            heap_to_allocate_from(atomic_load_explicit(&heap_table[cpu], memory_order_acquire));
        struct subheap *heap = wanted != NULL && subheap_lock_by_spinning(wanted) ? wanted : NULL;
        /* Obstructed: the holder was preempted or stopped, or is below us in a signal handler. */
        if (heap == NULL) {
            holder = holds_one();
            heap = acquire_spare(node, holder, &no_memory);
        }
        if (heap == NULL)
            heap = acquire_any(node, &exists);
        if (heap != NULL || !exists || (no_memory && ++tries == TRIES_WITHOUT_MEMORY))
            return heap;
        if (holder || wanted == NULL)
            sched_yield(); /* all others are taken, by threads that go on */
        else if (subheap_lock_soon(wanted, true))
            return wanted;
        check_forked();
    }
}

struct magazine *heap_count_use(struct subheap *heap, unsigned size_class, bool with_load)
{
    /* More than a program's start needs of any class, and done in some 30 us. */
    enum { USES_BEFORE_MAGAZINE = 1024 };
    struct subheap *here = heap_of_this_cpu(), *counts = heap;
    struct magazine *open = NULL;

    if (here != heap && heap_to_allocate_from(here) == heap)
        counts = here;
    /* A second lock is only tried: no thread waits for one while it holds another. */
    if (counts->magazines == NULL || (counts != heap && !subheap_try_lock(counts)))
        return NULL;
    struct magazines *magazines = counts->magazines;
    struct magazine *magazine = &magazines->own->of_class[size_class];
    if (atomic_load_explicit(&magazine->bounds, memory_order_relaxed) != 0 ||
        (++magazines->uses[size_class] > USES_BEFORE_MAGAZINE &&
         magazine_open(magazines, size_class))) {
        open = magazine;
        if (with_load)
            magazine_rise(magazines, size_class);
    }
    if (counts != heap)
        subheap_unlock(counts);
    return open;
}

uint64_t heap_cached_blocks(unsigned size_class)
{
    uint32_t left = atomic_load_explicit(&cpu_heap_count, memory_order_relaxed);
    uint64_t blocks = 0;

    for (uint32_t i = 0; i < CPU_HEAPS && left > 0; i++) {
        struct subheap *heap = atomic_load_explicit(&heap_table[i], memory_order_acquire);

        if (heap == NULL)
            continue;
        left--;
        blocks += magazine_cached(&heap->magazines->own->of_class[size_class]);
    }
    return blocks;
}

struct subheap *heap_lock_next(uint32_t *index, uint32_t end, uint32_t *passed_over)
{
    enum { TRIES = 20 }; /* of a millisecond each */

    while (*index < end) {
        struct subheap *heap =
            atomic_load_explicit(&heap_table[(*index)++ % ALL_HEAPS], memory_order_acquire);

        if (heap == NULL)
            continue;
        /* One that this thread holds below us will not be had by waiting. */
        bool is_ours = subheap_is_ours(heap);
        for (int tries = 0; !is_ours && tries < TRIES; tries++) {
            if (subheap_lock_soon(heap, false))
                return heap;
        }
        ++*passed_over;
    }
    return NULL;
}
