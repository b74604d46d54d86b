/*
 * SPDX-License-Identifier: MIT
 *
 * See fork.h.
 */
#include "cia_malloc/cpu_cache/fork.h"

#include "base/system_call.h"
#include "cia_malloc/cpu_cache/heap_table.h"

#include <pthread.h>

/*
 * The child of a fork has one thread; a sub-heap whose holder was another thread would stay locked
 * in it for ever, and be in the middle of a change. So the forking thread holds the CPUs'
 * sub-heaps, and their magazines, across fork, and in the child they are whole. It must not hold
 * the spare ones: between our handler and the fork proper libc takes locks of its own (stdio's),
 * and a thread that holds one of those may want memory before it lets go. Such a thread finds a
 * spare sub-heap.
 *
 * The forking thread gives up on a holder that does not move: one that is stopped, or itself,
 * interrupted by the signal handler that forks. In the child, what is still locked by then (such a
 * one, or a spare one in use) is taken out of the table: its blocks stay valid, what is freed to it
 * is not used again.
 *
 * fork_holder: the thread between before_fork and after_fork, by its thread pointer, which the
 * child shares. Claimed by compare-and-swap from NULL; held_for_fork of the sub-heaps and
 * forks_inside are that thread's.
 */
static _Atomic(void *) fork_holder;
static uint32_t forks_inside; /* from signal handlers while this thread holds the sub-heaps */

static bool claim_fork(void *self)
{
    enum { TRIES = 100 };
    static const struct timespec pause = {.tv_nsec = 1000 * 1000};

    for (int i = 0; i < TRIES; i++) {
        void *expected = NULL;

        if (atomic_compare_exchange_strong_explicit(&fork_holder, &expected, self,
                                                    memory_order_acquire, memory_order_relaxed))
            return true;
        if (expected == self) {
            forks_inside++;
            return false;
        }
        /* Another thread forks: let it. Raw: libc's nanosleep is a point where threads are
           cancelled. */
        (void)system_call_6(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
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
        /* Threads that ask the kernel for a chunk will take the lock again, but this one, which may
           be below a signal handler: they have no other sub-heap to go to, and may have a lock of
           libc's that fork waits for; in the child they are not there. This sub-heap is whole. */
        if (heap->relocking > (heap->relocker == __builtin_thread_pointer()))
            subheap_unlock(heap);
        else
            heap->held_for_fork = true;
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
        /* Acquire: another thread may have made one meanwhile, which is not held. */
        struct subheap *heap = atomic_load_explicit(&heap_table[i], memory_order_acquire);

        if (heap != NULL && heap->held_for_fork) {
            heap->held_for_fork = false;
            subheap_unlock(heap);
        }
    }
    atomic_store_explicit(&fork_holder, NULL, memory_order_release);
}

static void after_fork_in_child(void)
{
    void *holder = atomic_load_explicit(&fork_holder, memory_order_relaxed);
    bool nested = holder == __builtin_thread_pointer() && forks_inside > 0;

    magazines_after_fork();
    release_after_fork();
    heap_table_adopt();
    if (nested) /* the code that this handler interrupted still holds the others */
        return;
    forks_inside = 0;
    /* Another thread may have been forking: it is not here, and what it held is dropped below. */
    atomic_store_explicit(&fork_holder, NULL, memory_order_relaxed);
    heap_table_put_in_order(true);
}

void fork_register_handlers(void)
{
    pthread_atfork(before_fork, release_after_fork, after_fork_in_child);
}
