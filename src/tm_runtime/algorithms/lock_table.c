/*
 * SPDX-License-Identifier: MIT
 *
 * See lock_table.h. Time is a counter of commits, and a snapshot that is too old is extended after
 * all reads were validated: Riegel, Felber, Fetzer, "A Lazy Snapshot Algorithm with Eager
 * Validation", DISC 2006, as in TinySTM (Felber, Fetzer, Riegel, PPoPP 2008).
 *
 * A lock that this thread holds counts as valid: it was not newer than the snapshot when it was
 * locked.
 */
#include "tm_runtime/algorithms/lock_table.h"

#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/transaction.h"

_Alignas(64) uint64_t lock_table[LOCKS];

bool lock_table_reads_are_valid(const struct tm_thread *self)
{
    size_t count = LOG_COUNT(&self->reads, uint64_t *);

    for (size_t i = 0; i < count; i++) {
        uint64_t now = __atomic_load_n(*LOG_AT(&self->reads, uint64_t *, i), __ATOMIC_RELAXED);

        if (now > self->snapshot && now != self->lock_word)
            return false;
    }
    return true;
}

void lock_table_extend(struct tm_thread *self)
{
    /* The clock first: a commit after this load makes what it writes newer than now. */
    uint64_t now = __atomic_load_n(&tm_clock, __ATOMIC_ACQUIRE);

    if (!lock_table_reads_are_valid(self))
        transaction_restart(self, TM_READ_CHANGED);
    self->snapshot = now;
    /* Release: threads that wait for this one in gate_quiesce go on. */
    __atomic_store_n(&self->state, now, __ATOMIC_RELEASE);
}

uint64_t lock_table_wait_readable(struct tm_thread *self, uint64_t *lock)
{
    for (;;) {
        uint64_t seen = __atomic_load_n(lock, __ATOMIC_ACQUIRE);

        if (seen <= self->snapshot || seen == self->lock_word)
            return seen;
        if (seen & TM_LOCKED) {
            self->conflicting_lock = lock;
            transaction_restart(self, TM_READ_LOCKED);
        }
        lock_table_extend(self);
    }
}

void lock_table_log_read_slow(struct tm_thread *self, uint64_t *lock)
{
    if (!log_reserve(&self->reads, sizeof lock))
        transaction_restart(self, TM_NO_MEMORY);
    *(uint64_t **)log_append(&self->reads, sizeof lock) = lock;
}

void lock_table_acquire(struct tm_thread *self, uint64_t *lock)
{
    if (!log_reserve(&self->write_locks, sizeof lock))
        transaction_restart(self, TM_NO_MEMORY);
    for (;;) {
        uint64_t seen = __atomic_load_n(lock, __ATOMIC_RELAXED);

        if (seen == self->lock_word)
            return;
        if (seen & TM_LOCKED) {
            self->conflicting_lock = lock;
            transaction_restart(self, TM_WRITE_LOCKED);
        }
        if (seen > self->snapshot) {
            lock_table_extend(self);
            continue;
        }
        /* In the log first: a fork's child unlocks what it finds there, if it is locked. */
        *(uint64_t **)log_append(&self->write_locks, sizeof lock) = lock;
        if (__atomic_compare_exchange_n(lock, &seen, self->lock_word, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return;
        self->write_locks.used -= sizeof lock;
    }
}

void lock_table_release(struct tm_thread *self, uint64_t time)
{
    size_t count = LOG_COUNT(&self->write_locks, uint64_t *);

    for (size_t i = 0; i < count; i++) {
        uint64_t *lock = *LOG_AT(&self->write_locks, uint64_t *, i);

        /* Release: with it, what was written to the stripe. Only a fork's child finds others'. */
        if (__atomic_load_n(lock, __ATOMIC_RELAXED) == self->lock_word)
            __atomic_store_n(lock, time, __ATOMIC_RELEASE);
    }
    self->write_locks.used = 0;
}
