/*
 * SPDX-License-Identifier: MIT
 *
 * The lock table of eager and lazy: a word for each stripe of 64 bytes of memory, shared by stripes
 * that collide. The literature calls such a word an ownership record (orec). A word is the time of
 * the last commit to the stripe, or its owner's descriptor with TM_LOCKED. Written by
 * compare-and-swap to lock, by a release store of the owner to unlock; a reader loads it with
 * acquire before and after it reads memory.
 */
#ifndef TM_RUNTIME_ALGORITHMS_LOCK_TABLE_H
#define TM_RUNTIME_ALGORITHMS_LOCK_TABLE_H

#include "tm_runtime/memory.h"
#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { STRIPE_SHIFT = 6, STRIPE = 1 << STRIPE_SHIFT, LOCK_SHIFT = 16, LOCKS = 1 << LOCK_SHIFT };

extern uint64_t lock_table[LOCKS];

/*
 * Neighbouring stripes have neighbouring locks: eight share a line of the table. What lies further
 * up in the address is scattered, so that stacks and blocks of 2^n bytes do not collide.
 */
TM_INLINE uint64_t *lock_of(const void *address)
{
    uint64_t stripe = (uint64_t)(uintptr_t)address >> STRIPE_SHIFT;

    return &lock_table[(stripe ^ (stripe >> LOCK_SHIFT) * 0x9e37u) & (LOCKS - 1)];
}

/* Whether all of it is in one stripe. */
TM_INLINE bool is_in_one_stripe(const void *address, size_t size)
{
    return ((uintptr_t)address & (STRIPE - 1)) + size <= STRIPE;
}

/* How many of the bytes from address on are in its stripe. */
static inline size_t in_first_stripe(const void *address, size_t size)
{
    size_t rest = STRIPE - ((uintptr_t)address & (STRIPE - 1));

    return size < rest ? size : rest;
}

/* Makes now the time as of which the reads are valid, or starts again. */
void lock_table_extend(struct tm_thread *self);

/* Whether nothing that was read has been written by others since the snapshot. */
bool lock_table_reads_are_valid(const struct tm_thread *self);

/* Locks it, if it is not this thread's already, and extends the snapshot if it must. Starts again
 * if another thread has it. */
void lock_table_acquire(struct tm_thread *self, uint64_t *lock);

/* Appends the lock to the reads: it was not locked, and at most as new as the snapshot. */
TM_INLINE void lock_table_log_read(struct tm_thread *self, uint64_t *lock);

/* What the lock's word is, once it is not newer than the snapshot; TM_LOCKED is set if it is this
 * thread's own. Starts again if another thread has it. */
uint64_t lock_table_wait_readable(struct tm_thread *self, uint64_t *lock);

/* Unlocks all that this thread has. Others see its stripes as written at that time. */
void lock_table_release(struct tm_thread *self, uint64_t time);

/* The same when the log has to grow. */
void lock_table_log_read_slow(struct tm_thread *self, uint64_t *lock);

TM_INLINE void lock_table_log_read(struct tm_thread *self, uint64_t *lock)
{
    if (__builtin_expect(self->reads.room - self->reads.used < sizeof lock, 0)) {
        lock_table_log_read_slow(self, lock);
        return;
    }
    *(uint64_t **)log_append(&self->reads, sizeof lock) = lock;
}

/* At most 8 bytes of one stripe, and their lock logged, unless it is this thread's own. */
TM_INLINE uint64_t lock_table_read(struct tm_thread *self, uint64_t *lock, const void *from,
                                   size_t size)
{
    uint64_t seen = __atomic_load_n(lock, __ATOMIC_ACQUIRE);

    for (;;) {
        uint64_t value;

        if (__builtin_expect(seen > self->snapshot, 0)) {
            seen = lock_table_wait_readable(self, lock);
            if (seen == self->lock_word)
                return memory_load(from, size);
        }
        value = memory_load(from, size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__builtin_expect(__atomic_load_n(lock, __ATOMIC_RELAXED) == seen, 1)) {
            lock_table_log_read(self, lock);
            return value;
        }
        seen = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
    }
}

#endif
