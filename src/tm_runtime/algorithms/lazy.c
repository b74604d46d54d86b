/*
 * SPDX-License-Identifier: MIT
 *
 * lazy: writes go to a buffer; the commit locks their stripes in eager's lock table, validates, and
 * writes them to memory. Writes that must not wait are in place, under their locks, with an
 * undo log (in_place.h).
 *
 * Limitations: each read looks for the bytes in the buffer; bytes that memcpy wrote one by one are
 * put together word by word. A commit that finds a stripe locked starts again.
 */
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/algorithms/lock_table.h"
#include "tm_runtime/algorithms/in_place.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/logs/write_set.h"
#include "tm_runtime/transaction.h"

/* In one word, and so in one stripe. */
TM_INLINE uint64_t read_part(struct tm_thread *self, const void *from, size_t size)
{
    uint64_t value = lock_table_read(self, lock_of(from), from, size);

    return write_set_overlay(self, from, size, value);
}

static void write_in_place(struct tm_thread *self, void *to, uint64_t value, size_t size,
                           enum write_place place)
{
    if (place == WRITE_IN_PLACE) {
        lock_table_acquire(self, lock_of(to));
        if (!undo_log_save(&self->undo, to, size))
            transaction_restart(self, TM_NO_MEMORY);
    }
    memory_store(to, value, size);
}

TM_INLINE void write_part(struct tm_thread *self, void *to, uint64_t value, size_t size)
{
    enum write_place place = write_place_of(self, to);

    if (__builtin_expect(place != WRITE_BUFFERED, 0))
        write_in_place(self, to, value, size, place);
    else if (__builtin_expect(!write_set_put(self, to, size, value), 0))
        transaction_restart(self, TM_NO_MEMORY);
}

#include "tm_runtime/algorithms/by_words.h"

static void begin(struct tm_thread *self)
{
    self->snapshot = __atomic_load_n(&self->state, __ATOMIC_RELAXED);
    in_place_begin(self);
}

static void lock_writes(struct tm_thread *self)
{
    for (size_t i = 0; i < LOG_COUNT(&self->redo, struct redo_entry); i++) {
        const struct redo_entry *entry = LOG_AT(&self->redo, struct redo_entry, i);

        lock_table_acquire(self, lock_of(entry->word));
    }
}

static bool commit(struct tm_thread *self, uint64_t *time)
{
    lock_writes(self);
    if (self->write_locks.used != 0) {
        uint64_t now = __atomic_add_fetch(&tm_clock, 1, __ATOMIC_ACQ_REL);

        if (now != self->snapshot + 1 && !lock_table_reads_are_valid(self))
            return false;
        self->writing_back = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        write_set_write_back(self);
        lock_table_release(self, now);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        self->writing_back = false;
        *time = now;
    } else {
        *time = self->snapshot;
    }
    write_set_clear(self);
    self->reads.used = 0;
    return true;
}

static void rollback(struct tm_thread *self)
{
    if (self->write_locks.used != 0)
        lock_table_release(self, __atomic_add_fetch(&tm_clock, 1, __ATOMIC_ACQ_REL));
    write_set_clear(self);
    self->reads.used = 0;
}

/* Goes on as eager, which has the same locks and the same list of reads. */
static void begin_nested(struct tm_thread *self)
{
    lock_writes(self);
    if (!write_set_write_in_place(self))
        transaction_restart(self, TM_NO_MEMORY);
    private_blocks_clear(self);
    self->algorithm = &eager_algorithm;
}

static void after_fork_in_child(struct tm_thread *self)
{
    if (self->writing_back)
        write_set_write_back(self);
    else
        undo_log_apply(&self->undo, 0, 0, 0);
    lock_table_release(self, __atomic_add_fetch(&tm_clock, 1, __ATOMIC_ACQ_REL));
}

const struct algorithm lazy_algorithm = {
    .name = "lazy",
    .buffers = true,
    TM_FOR_SIZES(TM_ENTRY_FIELDS).read = read_words,
    .write = write_words,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_nested = begin_nested,
    .after_fork_in_child = after_fork_in_child,
};
