/*
 * SPDX-License-Identifier: MIT
 *
 * eager: locks a stripe when it first writes to it, and writes in place with an undo log. What
 * libitm calls ml_wt.
 *
 * Limitations: a reader that meets a locked stripe starts again, however long the owner runs. An
 * aborted writer takes a new time for its stripes, because others may have read what it wrote and
 * must not find the old time when they look again; that time makes their snapshots look old.
 */
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/algorithms/lock_table.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/transaction.h"

static void eager_read(struct tm_thread *self, void *to, const void *from, size_t size)
{
    char *at = to;
    const char *source = from;

    while (size != 0) {
        size_t piece = in_first_stripe(source, size);
        uint64_t *lock = lock_of(source);

        for (;;) {
            uint64_t seen = lock_table_wait_readable(self, lock);

            memory_copy(at, source, piece);
            if (seen == self->lock_word)
                break;
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            if (__atomic_load_n(lock, __ATOMIC_RELAXED) == seen) {
                lock_table_log_read(self, lock);
                break;
            }
        }
        at += piece;
        source += piece;
        size -= piece;
    }
}

TM_INLINE void acquire(struct tm_thread *self, uint64_t *lock)
{
    if (__atomic_load_n(lock, __ATOMIC_RELAXED) != self->lock_word)
        lock_table_acquire(self, lock);
}

/* Locks all stripes of the bytes. */
static void acquire_all(struct tm_thread *self, const void *address, size_t size)
{
    const char *at = address;

    while (size != 0) {
        size_t piece = in_first_stripe(at, size);

        acquire(self, lock_of(at));
        at += piece;
        size -= piece;
    }
}

static void eager_write(struct tm_thread *self, void *to, const void *from, size_t size)
{
    acquire_all(self, to, size);
    if (!undo_log_save(&self->undo, to, size))
        transaction_restart(self, TM_NO_MEMORY);
    memory_copy(to, from, size);
}

TM_INLINE uint64_t read_value(struct tm_thread *self, const void *from, size_t size)
{
    if (__builtin_expect(is_in_one_stripe(from, size), 1))
        return lock_table_read(self, lock_of(from), from, size);
    uint64_t value = 0;
    eager_read(self, &value, from, size);
    return value;
}

TM_INLINE uint64_t read_value_for_write(struct tm_thread *self, const void *from, size_t size)
{
    if (__builtin_expect(is_in_one_stripe(from, size), 1))
        acquire(self, lock_of(from));
    else
        acquire_all(self, from, size);
    return memory_load(from, size);
}

TM_INLINE void write_value(struct tm_thread *self, void *to, uint64_t value, size_t size)
{
    if (__builtin_expect(is_in_one_stripe(to, size), 1))
        acquire(self, lock_of(to));
    else
        acquire_all(self, to, size);
    if (__builtin_expect(!undo_log_save(&self->undo, to, size), 0))
        transaction_restart(self, TM_NO_MEMORY);
    memory_store(to, value, size);
}

TM_FOR_SIZES(TM_ENTRY)

static void begin(struct tm_thread *self)
{
    self->snapshot = __atomic_load_n(&self->state, __ATOMIC_RELAXED);
}

static bool commit(struct tm_thread *self, uint64_t *time)
{
    if (self->write_locks.used != 0) {
        uint64_t now = __atomic_add_fetch(&tm_clock, 1, __ATOMIC_ACQ_REL);

        if (now != self->snapshot + 1 && !lock_table_reads_are_valid(self))
            return false;
        lock_table_release(self, now);
        *time = now;
    } else {
        *time = self->snapshot;
    }
    self->reads.used = 0;
    return true;
}

static void rollback(struct tm_thread *self)
{
    if (self->write_locks.used != 0)
        lock_table_release(self, __atomic_add_fetch(&tm_clock, 1, __ATOMIC_ACQ_REL));
    self->reads.used = 0;
}

/* All writes are in place from the start. */
static void begin_nested(struct tm_thread *self)
{
    (void)self;
}

static void after_fork_in_child(struct tm_thread *self)
{
    undo_log_apply(&self->undo, 0, 0, 0);
    rollback(self);
}

const struct algorithm eager_algorithm = {
    .name = "eager",
    TM_FOR_SIZES(TM_ENTRY_FIELDS).read = eager_read,
    .write = eager_write,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_nested = begin_nested,
    .after_fork_in_child = after_fork_in_child,
};
