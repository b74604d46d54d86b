/*
 * SPDX-License-Identifier: MIT
 *
 * Granting leases and taking them away; see lease.h.
 */
#include "cia_malloc/lease.h"

#include "base/spin.h"
#include "base/system_call.h"

#include <linux/membarrier.h>

/* A first look at other thread-local variables would call the dynamic linker, and that malloc. */
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))

_Thread_local struct lease *lease_here;

/* This thread's, whether it leads anywhere or not; NULL until it is first granted one. */
static INITIAL_EXEC _Thread_local struct lease *own;

/* Set before the first sub-heap; cleared when the kernel refuses to go on. Relaxed. */
static atomic_bool granted;

static struct lease leases[LEASES];

/* The thread found none to be its own: it does not look again. */
static INITIAL_EXEC _Thread_local bool refused;

/* Every running thread of the process comes by a full fence before this returns. */
static bool fence_everywhere(void)
{
    return system_call_6(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0) == 0;
}

void leases_choose(bool wanted)
{
#ifdef __SANITIZE_THREAD__
    wanted = false; /* the sanitizer does not see what membarrier orders */
#endif
    atomic_store_explicit(&granted,
                          wanted && system_call_6(SYS_membarrier,
                                                  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0,
                                                  0, 0, 0) == 0,
                          memory_order_relaxed);
}

bool leases_are_granted(void)
{
    return atomic_load_explicit(&granted, memory_order_relaxed);
}

static void lead_nowhere(struct lease *lease)
{
    atomic_store_explicit(&lease->take, magazines_without_room, memory_order_relaxed);
    atomic_store_explicit(&lease->put, magazines_without_room, memory_order_relaxed);
}

/* By the holder of the lock, who knows that the lease's thread is in no step. */
static void end_lease(struct subheap *heap)
{
    atomic_store_explicit(&heap->lease, NULL, memory_order_relaxed);
    heap->lease_is_stopped = false;
}

/* Whether its thread is in no step: one that runs comes to the end of its step soon. */
static bool step_ends(const struct lease *lease, int looks)
{
    /* Acquire: pairs with the release in lease_leave; all that its steps did is seen. */
    while (atomic_load_explicit(&lease->busy, memory_order_acquire) != 0) {
        if (--looks <= 0)
            return false;
        spin_pause();
    }
    return true;
}

/* Also in a handler above find_lease, when own does not say so yet. */
static bool is_of_this_thread(const struct lease *lease)
{
    return atomic_load_explicit(&lease->thread, memory_order_relaxed) == __builtin_thread_pointer();
}

bool lease_withdraw_slow(struct subheap *heap, struct lease *lease)
{
    /* Two threads that take turns on a CPU would take it from each other every time: no grant for
       up to 16,000 uses of the magazines under the lock. In calls, not by a clock: this is in free
       as well, and a library that stands before clock_gettime may come back from there. */
    enum { LOOKS = 50, PAUSE = 64 };
    int looks = 1;

    if (is_of_this_thread(lease)) {
        if (lease_is_busy(lease))
            return false;
        lead_nowhere(lease);
        end_lease(heap);
        return true;
    }
    if (!heap->lease_is_stopped) {
        if (!leases_are_granted())
            return false;
        lead_nowhere(lease);
        if (!fence_everywhere()) {
            /* By a sandbox that began later. The magazines are nobody's until the thread that has
               the lease allocates or frees again. */
            atomic_store_explicit(&granted, false, memory_order_relaxed);
            return false;
        }
        heap->lease_is_stopped = true;
        looks = LOOKS;
    }
    if (!step_ends(lease, looks))
        return false;
    end_lease(heap);
    heap->lease_pause = PAUSE;
    return true;
}

bool lease_is_below_us(const struct subheap *heap)
{
    const struct lease *lease = atomic_load_explicit(&heap->lease, memory_order_relaxed);

    return lease != NULL && is_of_this_thread(lease) && lease_is_busy(lease);
}

/* The thread's own lease, found again or taken; NULL when others have all that it looks at. */
static struct lease *find_lease(void)
{
    enum { PROBES = 8 };
    void *self = __builtin_thread_pointer();
    size_t hash = (size_t)(((uintptr_t)self >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

    for (size_t i = 0; i < PROBES; i++) {
        struct lease *lease = &leases[(hash + i) % LEASES];
        void *thread = NULL;

        if (atomic_compare_exchange_strong_explicit(&lease->thread, &thread, self,
                                                    memory_order_relaxed, memory_order_relaxed) ||
            thread == self) {
            /* One that ended in a step, with this pointer, does not come back to it. */
            lead_nowhere(lease);
            lease_leave(lease);
            return lease;
        }
    }
    return NULL;
}

/* Gives the lease of another sub-heap up, in no step; false if its lock is taken. */
static bool end_lease_of(struct subheap *heap, const struct lease *lease)
{
    if (atomic_load_explicit(&heap->lease, memory_order_relaxed) != lease)
        return true;
    if (!subheap_try_lock(heap))
        return false;
    if (atomic_load_explicit(&heap->lease, memory_order_relaxed) == lease)
        end_lease(heap);
    subheap_unlock(heap);
    return true;
}

/* The lease is of no other sub-heap afterwards; false if that one's lock is taken. */
static bool leave_others(struct lease *lease, const struct subheap *heap)
{
    if (lease->heap == NULL || lease->heap == heap)
        return true;
    lead_nowhere(lease);
    if (!end_lease_of(lease->heap, lease))
        return false;
    lease->heap = NULL;
    return true;
}

static void lead_to(struct lease *lease, struct subheap *heap)
{
    lease->heap = heap;
    lease_here = lease;
    atomic_store_explicit(&heap->lease, lease, memory_order_relaxed);
    atomic_store_explicit(&lease->take, magazine_own_region(heap->magazines), memory_order_relaxed);
    atomic_store_explicit(&lease->put, heap->magazines->region, memory_order_relaxed);
}

void lease_grant(struct subheap *heap)
{
    struct lease *lease = own;
    bool grant = leases_are_granted();

    if (heap->lease_pause > 0) {
        heap->lease_pause--;
        return;
    }
    if (heap->magazines == NULL || refused || (!grant && lease == NULL))
        return;
    if (__builtin_expect(lease == NULL, 0)) {
        lease = find_lease();
        refused = lease == NULL;
        own = lease;
    }
    /* Else in a signal handler above a step, or above this. */
    if (lease == NULL || lease_is_busy(lease))
        return;
    lease_enter(lease);
    if (leave_others(lease, heap) && grant)
        lead_to(lease, heap);
    lease_leave(lease);
}

void lease_after_fork(struct subheap *heap)
{
    if (!lease_is_below_us(heap))
        end_lease(heap);
}

void leases_after_fork(void)
{
    for (uint32_t i = 0; i < LEASES; i++) {
        struct lease *lease = &leases[i];
        bool mine = is_of_this_thread(lease);

        if (atomic_load_explicit(&lease->thread, memory_order_relaxed) == NULL ||
            (mine && lease_is_busy(lease)))
            continue; /* the fork came from a signal handler above a step */
        lead_nowhere(lease);
        lease->heap = NULL;
        lease_leave(lease);
        if (!mine)
            atomic_store_explicit(&lease->thread, NULL, memory_order_relaxed);
    }
    refused = false;
}
