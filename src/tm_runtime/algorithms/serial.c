/*
 * SPDX-License-Identifier: MIT
 *
 * serial: nobody else is in a transaction, so memory is read and written in place. With an undo log
 * where the transaction, or one nested in it, may be cancelled; without where it is irrevocable.
 *
 * Limitation: others do not run meanwhile, not even readers.
 */
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/memory.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/transaction.h"

static void read_in_place(struct tm_thread *self, void *to, const void *from, size_t size)
{
    (void)self;
    memory_copy(to, from, size);
}

static void write_in_place(struct tm_thread *self, void *to, const void *from, size_t size)
{
    (void)self;
    memory_copy(to, from, size);
}

static void write_undoably(struct tm_thread *self, void *to, const void *from, size_t size)
{
    if (!undo_log_save(&self->undo, to, size))
        transaction_restart(self, TM_NO_MEMORY);
    memory_copy(to, from, size);
}

#define ENTRY(size, type)                                                                          \
    static type read_##size(struct tm_thread *self, const type *from)                              \
    {                                                                                              \
        (void)self;                                                                                \
        return (type)memory_load(from, size);                                                      \
    }                                                                                              \
    static void write_##size(struct tm_thread *self, type *to, type value)                         \
    {                                                                                              \
        (void)self;                                                                                \
        memory_store(to, value, size);                                                             \
    }                                                                                              \
    static void write_undoably_##size(struct tm_thread *self, type *to, type value)                \
    {                                                                                              \
        if (__builtin_expect(!undo_log_save(&self->undo, to, size), 0))                            \
            transaction_restart(self, TM_NO_MEMORY);                                               \
        memory_store(to, value, size);                                                             \
    }
TM_FOR_SIZES(ENTRY)

static void begin(struct tm_thread *self)
{
    (void)self;
}

static bool commit(struct tm_thread *self, uint64_t *time)
{
    (void)self;
    (void)time;
    return true;
}

static void rollback(struct tm_thread *self)
{
    (void)self;
}

/* All writes are in place from the start. */
static void begin_nested(struct tm_thread *self)
{
    (void)self;
}

static void after_fork_in_child(struct tm_thread *self)
{
    undo_log_apply(&self->undo, 0, 0, 0);
}

#define IN_PLACE(size, type)                                                                       \
    .read_##size = read_##size, .read_for_write_##size = read_##size, .write_##size = write_##size,
#define UNDOABLY(size, type)                                                                       \
    .read_##size = read_##size, .read_for_write_##size = read_##size,                              \
    .write_##size = write_undoably_##size,

const struct algorithm irrevocable_algorithm = {
    .name = "irrevocable",
    TM_FOR_SIZES(IN_PLACE).read = read_in_place,
    .write = write_in_place,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_nested = begin_nested,
    .after_fork_in_child = after_fork_in_child,
};

const struct algorithm serial_algorithm = {
    .name = "serial",
    TM_FOR_SIZES(UNDOABLY).read = read_in_place,
    .write = write_undoably,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_nested = begin_nested,
    .after_fork_in_child = after_fork_in_child,
};
