/*
 * SPDX-License-Identifier: MIT
 *
 * A lease: one thread works on the magazines of one CPU without a locked instruction, where there
 * are no restartable sequences. Without a lease every malloc and free there exchanges the word of
 * the sub-heap's lock, which alone takes as long as all the rest.
 *
 * The holder of a sub-heap's lock grants its magazines to itself before it unlocks. From then on
 * the lock's holders have everything but the magazines, until one of them takes the lease away:
 *
 *     thread with the lease             holder of the lock (lease_withdraw)
 *     busy = 1                          take = put = magazines without room
 *     works on what take or put says    membarrier
 *     busy = 0                          has the magazines if busy is 0
 *
 * Neither side may miss the other's store: the one has no fence between its store and its load but
 * the kernel's membarrier, which the other calls, makes one in every running thread of the process
 * (the asymmetric form of Dekker's mutual exclusion). If busy is 1 the thread is in the middle of a
 * step, and perhaps stopped there: nobody waits, the magazines are to be had later. The step ends
 * in either case, and a lease that was taken away is found to lead to magazines without room.
 *
 * A thread keeps its lease when it is moved to another CPU, until it comes off the fast path; a
 * thread that blocks or ends keeps it until another wants the magazines. What a lease is kept in is
 * the thread's for ever, so that a store to busy that comes late hurts nobody: there are LEASES of
 * them, found again by the thread's pointer, which a thread inherits with the stack of one that
 * ended. A thread that finds none works under the lock.
 *
 * A signal handler that interrupts a step finds its thread busy and goes past the magazines.
 */
#ifndef MPLACE_CIA_LEASE_H
#define MPLACE_CIA_LEASE_H

#include "cia_malloc/magazine_held.h"
#include "cia_malloc/subheap.h"

enum {
    LEASES = 1024,
    /* Mallocs of a class between two that leave the fast path and look at the CPU: a thread on a
       CPU of another memory node is to get blocks of that one. */
    LEASE_MALLOCS = 1 << 16,
};

/* The low half of a magazine's top, at the last of so many. */
#define LEASE_MALLOCS_OVER ((LEASE_MALLOCS - 1) * (uint32_t)MAGAZINE_SERVED)
static_assert(LEASE_MALLOCS_OVER + MAGAZINE_TOP_MASK == UINT32_MAX, "one comparison says it");

struct lease {
    /* 1: the thread is in a step, or changes its lease. Written by the thread; by a child of fork,
       which has no other threads. A release of 0 hands the magazines to who acquires it. */
    _Alignas(LINE_BYTES) _Atomic uint32_t busy;
    /* As magazine_to_take and magazine_to_put. Written by the thread, busy, and to those without
       room by the holder of the lock of a sub-heap whose lease this is. Relaxed: see above. */
    _Atomic(struct magazine_region *) take, put;
    struct subheap *heap;   /* of which it is, or was, or NULL: the thread's own */
    _Atomic(void *) thread; /* its thread pointer; NULL: nobody's. Set once, by compare-and-swap */
};

static_assert(sizeof(struct lease) == LINE_BYTES, "no line is written by two threads");

/* This thread's while it leads somewhere, as far as the thread knows; else NULL. */
extern __attribute__((tls_model("initial-exec"))) _Thread_local struct lease *lease_here;

/* Begins and ends a step. The load of take or put must come after the store as the compiler has it;
   the processor may turn them round, see above. */
static inline void lease_enter(struct lease *lease)
{
    atomic_store_explicit(&lease->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void lease_leave(struct lease *lease)
{
    atomic_store_explicit(&lease->busy, 0, memory_order_release);
}

static inline bool lease_is_busy(const struct lease *lease)
{
    return atomic_load_explicit(&lease->busy, memory_order_relaxed) != 0;
}

/* In a step: the magazine that malloc takes from, and the one that free puts into. */
static inline struct magazine *lease_to_take(const struct lease *lease, uint32_t offset)
{
    return magazine_from(atomic_load_explicit(&lease->take, memory_order_relaxed), offset);
}

static inline struct magazine *lease_to_put(const struct lease *lease, uint32_t offset)
{
    return magazine_from(atomic_load_explicit(&lease->put, memory_order_relaxed), offset);
}

/* As magazine_pop; also 0 every LEASE_MALLOCS calls. 27 instructions; writes a line of the
   magazine and one of the thread. */
static inline __attribute__((always_inline)) uintptr_t lease_pop(uint32_t offset)
{
    struct lease *lease = lease_here;
    uintptr_t block = 0;

    if (__builtin_expect(lease == NULL || lease_is_busy(lease), 0))
        return 0;
    lease_enter(lease);
    struct magazine *magazine = lease_to_take(lease, offset);
    uint64_t top = magazine_word(&magazine->top);
    if (__builtin_expect((uint32_t)top < LEASE_MALLOCS_OVER, 1))
        block = magazine_pop_below(magazine, top);
    lease_leave(lease);
    return block;
}

/* As magazine_push. */
static inline __attribute__((always_inline)) bool lease_push(uint32_t offset, void *block)
{
    struct lease *lease = lease_here;

    if (__builtin_expect(lease == NULL || lease_is_busy(lease), 0))
        return false;
    lease_enter(lease);
    bool pushed = magazine_push_held(lease_to_put(lease, offset), block, true);
    lease_leave(lease);
    return pushed;
}

/* Whether leases are granted from now on, if the kernel can do what that needs (Linux 4.14). Before
   the first sub-heap; idempotent. */
void leases_choose(bool wanted);

/* Whether they still are. */
bool leases_are_granted(void);

/*
 * For the holder of the lock: whether it has the magazines, until it unlocks or grants them. Takes
 * the lease away if there is one: one system call if it is another thread's. False: that thread is
 * in the middle of a step, or this one is, below us.
 */
bool lease_withdraw_slow(struct subheap *heap, struct lease *lease);

static inline bool lease_withdraw(struct subheap *heap)
{
    struct lease *lease = atomic_load_explicit(&heap->lease, memory_order_relaxed);

    return __builtin_expect(lease == NULL, 1) || lease_withdraw_slow(heap, lease);
}

/* Whether the lease is this thread's, which is in a step below a signal handler: no waiting helps.
 */
bool lease_is_below_us(const struct subheap *heap);

/*
 * For the holder of the lock who has the magazines: they are this thread's when it has unlocked. Or
 * not: when leases are not granted, or another thread lost one of them a while ago, by uses.
 */
void lease_grant(struct subheap *heap);

/*
 * This thread's lease if it leads somewhere, a hint: it may be taken away at any time. NULL: it has
 * none, or is in a step. To be asked once: a signal handler may come to another answer.
 */
static inline struct lease *lease_of_this_thread(void)
{
    struct lease *lease = lease_here;

    if (lease == NULL || lease_is_busy(lease))
        return NULL;
    if (atomic_load_explicit(&lease->take, memory_order_relaxed) != magazines_without_room)
        return lease;
    lease_here = NULL; /* taken away: the fast paths need not try */
    return NULL;
}

/* In the child of a fork: for each sub-heap, then once. Nobody has a lease then, but this thread if
   it was in a step. */
void lease_after_fork(struct subheap *heap);
void leases_after_fork(void);

#endif
