/*
 * SPDX-License-Identifier: MIT
 *
 * norec: one sequence lock for all commits, reads validated by value, writes buffered. Dalessandro,
 * Spear, Scott, "NOrec: Streamlining STM by Abolishing Ownership Records", PPoPP 2010. The clock is
 * the sequence lock: odd while a transaction writes back. Writes that must not wait are in
 * place, with the sequence lock held from then on (in_place.h).
 *
 * Limitations: commits of writers come one after the other, and each makes all other transactions
 * validate all that they have read. The lock is held through the rest of a transaction that writes
 * to its callers' frames by barriers, or that has a nested one which may be cancelled.
 */
#include "base/spin.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/algorithms/in_place.h"
#include "tm_runtime/gate.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/logs/write_set.h"
#include "tm_runtime/memory.h"
#include "tm_runtime/transaction.h"

#include <sched.h>

enum { SPINS = 200 };

struct read_value {
    const void *address;
    uint64_t value;
    size_t size;
};

/*
 * The clock, once nobody holds it. Starts again if the gate is closed: the holder may have closed
 * it, and waits for this transaction to end before it goes on.
 */
static uint64_t even_clock(struct tm_thread *self)
{
    for (unsigned look = 1;; look++) {
        uint64_t now = __atomic_load_n(&tm_clock, __ATOMIC_ACQUIRE);

        if ((now & 1) == 0)
            return now;
        if (look % SPINS != 0) {
            spin_pause();
            continue;
        }
        if (__atomic_load_n(&gate.word, __ATOMIC_RELAXED) & GATE_CLOSED)
            transaction_restart(self, TM_READ_LOCKED);
        sched_yield();
    }
}

static bool reads_are_unchanged(const struct tm_thread *self)
{
    for (size_t i = 0; i < LOG_COUNT(&self->reads, struct read_value); i++) {
        const struct read_value *read = LOG_AT(&self->reads, struct read_value, i);

        if (memory_load(read->address, read->size) != read->value)
            return false;
    }
    return true;
}

/* Makes the snapshot a moment at which all reads had their values; false if there is none. */
static bool extend(struct tm_thread *self)
{
    for (;;) {
        uint64_t now = even_clock(self);

        if (!reads_are_unchanged(self))
            return false;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&tm_clock, __ATOMIC_RELAXED) != now)
            continue;
        self->snapshot = now;
        /* Release: threads that wait for this one in gate_quiesce go on. */
        __atomic_store_n(&self->state, now, __ATOMIC_RELEASE);
        return true;
    }
}

/* Takes the sequence lock as of the snapshot; false if the reads are not valid any more. */
static bool acquire_sequence_lock(struct tm_thread *self)
{
    uint64_t expected = self->snapshot;

    if (self->holds_sequence_lock)
        return true;
    /* In the descriptor first: a fork's child gives back what a thread of its parent held. */
    self->holds_sequence_lock = true;
    while (!__atomic_compare_exchange_n(&tm_clock, &expected, self->snapshot + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        self->holds_sequence_lock = false;
        if (!extend(self))
            return false;
        expected = self->snapshot;
        self->holds_sequence_lock = true;
    }
    return true;
}

static void release_sequence_lock(struct tm_thread *self)
{
    __atomic_store_n(&tm_clock, self->snapshot + 2, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->holds_sequence_lock = false;
}

static void log_read(struct tm_thread *self, const void *from, size_t size, uint64_t value)
{
    if (!log_reserve(&self->reads, sizeof(struct read_value)))
        transaction_restart(self, TM_NO_MEMORY);
    *(struct read_value *)log_append(&self->reads, sizeof(struct read_value)) =
        (struct read_value){.address = from, .value = value, .size = size};
}

TM_INLINE uint64_t read_part(struct tm_thread *self, const void *from, size_t size)
{
    uint64_t value = memory_load(from, size);

    /* The transaction's own memory changes without barriers: its values must not be compared. */
    if (__builtin_expect(self->holds_sequence_lock || is_private(self, from), 0))
        return value;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    while (__builtin_expect(__atomic_load_n(&tm_clock, __ATOMIC_ACQUIRE) != self->snapshot, 0)) {
        if (!extend(self))
            transaction_restart(self, TM_READ_CHANGED);
        value = memory_load(from, size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    }
    log_read(self, from, size, value);
    return write_set_overlay(self, from, size, value);
}

/* From here on the sequence lock is held, nothing is buffered, and reads need no validation. */
static void go_in_place(struct tm_thread *self)
{
    if (!acquire_sequence_lock(self))
        transaction_restart(self, TM_READ_CHANGED);
    if (!write_set_write_in_place(self))
        transaction_restart(self, TM_NO_MEMORY);
}

static void write_in_place(struct tm_thread *self, void *to, uint64_t value, size_t size)
{
    if (!self->holds_sequence_lock)
        go_in_place(self);
    if (!undo_log_save(&self->undo, to, size))
        transaction_restart(self, TM_NO_MEMORY);
    memory_store(to, value, size);
}

TM_INLINE void write_part(struct tm_thread *self, void *to, uint64_t value, size_t size)
{
    enum write_place place = write_place_of(self, to);

    if (__builtin_expect(place == WRITE_PRIVATE, 0))
        memory_store(to, value, size);
    else if (__builtin_expect(place == WRITE_IN_PLACE || self->holds_sequence_lock, 0))
        write_in_place(self, to, value, size);
    else if (__builtin_expect(!write_set_put(self, to, size, value), 0))
        transaction_restart(self, TM_NO_MEMORY);
}

#include "tm_runtime/algorithms/by_words.h"

static void begin(struct tm_thread *self)
{
    /* If a holder is at work, as of the moment before it: the first read waits. */
    self->snapshot = __atomic_load_n(&self->state, __ATOMIC_RELAXED) & ~UINT64_C(1);
    in_place_begin(self);
}

static bool commit(struct tm_thread *self, uint64_t *time)
{
    if (self->redo.used != 0 || self->holds_sequence_lock) {
        if (!acquire_sequence_lock(self))
            return false;
        self->writing_back = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        write_set_write_back(self);
        *time = self->snapshot + 2;
        release_sequence_lock(self);
        self->writing_back = false;
        write_set_clear(self);
    } else {
        *time = self->snapshot;
    }
    self->reads.used = 0;
    return true;
}

static void rollback(struct tm_thread *self)
{
    if (self->holds_sequence_lock)
        release_sequence_lock(self);
    write_set_clear(self);
    self->reads.used = 0;
}

static void begin_nested(struct tm_thread *self)
{
    go_in_place(self);
    private_blocks_clear(self);
}

static void after_fork_in_child(struct tm_thread *self)
{
    if (self->writing_back)
        write_set_write_back(self);
    else
        undo_log_apply(&self->undo, 0, 0, 0);
    /* holds_sequence_lock may be a little early or late. */
    if (self->holds_sequence_lock && tm_clock == self->snapshot + 1)
        tm_clock++;
    self->holds_sequence_lock = false;
}

const struct algorithm norec_algorithm = {
    .name = "norec",
    .buffers = true,
    TM_FOR_SIZES(TM_ENTRY_FIELDS).read = read_words,
    .write = write_words,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_nested = begin_nested,
    .after_fork_in_child = after_fork_in_child,
};
