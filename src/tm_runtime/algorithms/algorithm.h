/*
 * SPDX-License-Identifier: MIT
 *
 * What an algorithm is to the rest of the library: one table of functions, which the barriers of a
 * running transaction call through its thread's descriptor.
 */
#ifndef TM_RUNTIME_ALGORITHMS_ALGORITHM_H
#define TM_RUNTIME_ALGORITHMS_ALGORITHM_H

#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The top bit of a lock's word: the rest is its owner's descriptor. No time has it. */
#define TM_LOCKED (UINT64_C(1) << 63)

/* The sizes with barriers of their own; all others go through the functions for any size. */
#define TM_FOR_SIZES(WITH)                                                                         \
    WITH(1, uint8_t)                                                                               \
    WITH(2, uint16_t)                                                                              \
    WITH(4, uint32_t)                                                                              \
    WITH(8, uint64_t)

struct algorithm {
    const char *name;

    /* Writes may wait for the commit: it must know the blocks that the transaction allocates. */
    bool buffers;

    /* Addresses need no alignment. They do not return if the transaction must start again. */
#define TM_DECLARE(size, type)                                                                     \
    type (*read_##size)(struct tm_thread *, const type *);                                         \
    type (*read_for_write_##size)(struct tm_thread *, const type *);                               \
    void (*write_##size)(struct tm_thread *, type *, type);
    TM_FOR_SIZES(TM_DECLARE)
#undef TM_DECLARE
    /* Memory of the program on the one side, memory that no other thread knows on the other. */
    void (*read)(struct tm_thread *, void *to, const void *from, size_t size);
    void (*write)(struct tm_thread *, void *to, const void *from, size_t size);

    /* The state word has a time; the algorithm may wait for a better one. */
    void (*begin)(struct tm_thread *);

    /*
     * Makes the writes last. *time: others must be waited for until they have valid reads as of it,
     * before the thread may take memory for its own that the transaction made or saw private. That
     * goes for a transaction that has only read, too: another one, which made it private, may wait
     * still. False: the reads are not valid any more; rollback is next.
     */
    bool (*commit)(struct tm_thread *, uint64_t *time);

    /* Forgets everything after the undo log was applied, and lets others see memory again. */
    void (*rollback)(struct tm_thread *);

    /*
     * A nested transaction begins that may be cancelled by itself. From here on all writes are in
     * place, with the undo log, for two reasons: the log can be cut, and gcc leaves out the barrier
     * of a read that follows a nested transaction if the same function wrote the bytes before it.
     */
    void (*begin_nested)(struct tm_thread *);

    /* In the child of a fork that does not have this thread. */
    void (*after_fork_in_child)(struct tm_thread *);
};

extern const struct algorithm eager_algorithm, lazy_algorithm, norec_algorithm;

/* Of serial transactions: in place, with an undo log if the transaction may be cancelled. */
extern const struct algorithm serial_algorithm, irrevocable_algorithm;

/* The clock of all algorithms: the number of commits, or norec's sequence lock. */
extern uint64_t tm_clock;

/*
 * The entries for the four sizes from two inline functions, read_value and write_value, which take
 * and return up to 8 bytes in the low end of a word. PREFIX_read, PREFIX_write and the rest are
 * the algorithm's.
 */
#define TM_ENTRY(size, type)                                                                       \
    static type read_##size(struct tm_thread *self, const type *from)                              \
    {                                                                                              \
        return (type)read_value(self, from, size);                                                 \
    }                                                                                              \
    static type read_for_write_##size(struct tm_thread *self, const type *from)                    \
    {                                                                                              \
        return (type)read_value_for_write(self, from, size);                                       \
    }                                                                                              \
    static void write_##size(struct tm_thread *self, type *to, type value)                         \
    {                                                                                              \
        write_value(self, to, value, size);                                                        \
    }
#define TM_ENTRY_FIELDS(size, type)                                                                \
    .read_##size = read_##size, .read_for_write_##size = read_for_write_##size,                    \
    .write_##size = write_##size,

#endif
