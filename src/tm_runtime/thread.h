/*
 * SPDX-License-Identifier: MIT
 *
 * What the library knows of a thread that has begun a transaction: its state word, which others
 * look at, and the logs, which are its own. Descriptors are never given back: a thread that ends
 * leaves its own to the next one, so that the list of them can be read without a lock.
 */
#ifndef TM_RUNTIME_THREAD_H
#define TM_RUNTIME_THREAD_H

#include "tm_runtime/logs/log.h"
#include "tm_runtime/registers.h"

#include <stdbool.h>
#include <stdint.h>

struct algorithm;
struct statistics_table;
struct statistics_row;

/*
 * Values of the state word. Any other is the time up to which the transaction's reads are valid.
 * TM_EXCLUSIVE is later than any time: its thread runs alone, and no commit has to wait for it.
 */
#define TM_INACTIVE  UINT64_MAX
#define TM_EXCLUSIVE (UINT64_MAX - 1)

/* Why a transaction aborts. */
enum tm_cause {
    TM_READ_LOCKED,    /* reads what another has locked */
    TM_WRITE_LOCKED,   /* writes what another has locked */
    TM_READ_CHANGED,   /* what it has read has changed, seen while it ran */
    TM_COMMIT_CHANGED, /* the same, seen at its commit or its switch to serial mode */
    TM_SERIAL_TAKEN,   /* wants serial mode, and another has it */
    TM_NO_MEMORY,      /* no memory for a log */
    TM_HARDWARE_CONFLICT,
    TM_HARDWARE_CAPACITY,
    TM_HARDWARE_BUSY, /* a software transaction ran */
    TM_HARDWARE_OTHER,
    TM_CANCELLED, /* by the program */
    TM_CAUSES,
};

/* Why a transaction runs in serial mode. */
enum tm_serial_reason {
    TM_NOT_SERIAL,
    TM_SERIAL_FROM_START, /* its code has no barriers, or is known to go irrevocable */
    TM_SERIAL_SWITCH,     /* it switched in flight, or was restarted in order to */
    TM_SERIAL_ABORTS,     /* too many aborts in a row */
    TM_SERIAL_MEMORY,     /* no memory for its logs */
    TM_SERIAL_ALGORITHM,  /* TM_ALGORITHM=serial */
    TM_SERIAL_REASONS,
};

/* Whose a descriptor is: nobody's, a thread's, or one's that ended and is still counted. */
enum tm_use { TM_FREE, TM_IN_USE, TM_ENDED };

/* How much of each log belongs to the outer transaction, while a nested one may be cancelled. */
struct tm_checkpoint {
    struct tm_registers registers;
    const struct algorithm *algorithm;
    uint32_t properties, nesting, catches;
    size_t undo, allocations, user_actions;
    uint64_t id;
};

struct tm_thread {
    /* Written by the thread; read by those that wait for it (gate.h). On a line of its own. */
    _Alignas(64) uint64_t state;

    /* Everything below is the thread's alone, unless it forked (registry.h). */
    _Alignas(64) const struct algorithm *algorithm;
    uint64_t snapshot;      /* reads are valid as of this time */
    uint64_t lock_word;     /* what a lock of the table holds that is this thread's */
    struct log reads;       /* eager, lazy: locks; norec: values */
    struct log write_locks; /* eager, lazy: the locks held */
    struct log undo;        /* see undo_log.h */
    uint32_t nesting;       /* transactions that this thread is in; 0: none */
    uint32_t properties;
    struct tm_registers registers; /* of the innermost that can be cancelled, or the outermost */
    uint64_t id;                   /* of the innermost that can be cancelled */

    uint32_t hardware_depth; /* nesting in a hardware transaction; written in that alone */
    uint32_t catches;        /* C++: handlers entered in the transaction and not left */
    bool holds_serial;       /* the gate is closed by this thread */
    bool holds_hourglass;
    bool counted;             /* in gate.running */
    bool holds_sequence_lock; /* norec: the sequence lock is this thread's */
    bool writing_back;        /* buffered writes are on their way to memory */
    bool searches_clones;     /* a clone table may be in use; others wait for it (abi/clones.c) */
    bool has_actions;         /* allocations, user_actions or catches are not empty */
    uint8_t serial_reason;    /* enum tm_serial_reason of the next attempt */
    uint32_t aborts_in_row;
    const uint64_t *conflicting_lock; /* another thread's, for which the last abort was; or NULL */
    unsigned uncaught;                /* C++: std::uncaught_exceptions() at begin */
    unsigned *uncaught_now;           /* NULL: no C++ */

    struct log allocations, user_actions, checkpoints;
    struct log redo, redo_table; /* write_set.h */
    uint64_t redo_filter;
    uint64_t next_id;
    uint64_t random;
    uint64_t quiesced;                 /* every transaction has valid reads as of this time */
    uintptr_t stack_bottom, stack_top; /* of the thread's own stack, as long as it may get */
    uintptr_t frames_end; /* of those with locals that functions they call write to; in_place.h */
    struct log blocks, blocks_table; /* private_blocks.h */
    uint64_t blocks_classes;
    uintptr_t blocks_start, blocks_end; /* a range with all blocks */

    struct statistics_table *statistics; /* NULL: nobody counts */
    struct statistics_row *row;          /* of the transaction that runs */

    void *unsafe_function; /* what is called and has no clone; for the statistics */

    struct tm_thread *next; /* set before the descriptor is in the list */
    int use;                /* enum tm_use; changed with the gate closed, except to TM_ENDED */
};

/* NULL: this thread has not begun a transaction yet. */
extern __thread struct tm_thread *tm_self __attribute__((tls_model("initial-exec")));

/* The list of all descriptors, of ended threads among them. Only grows. */
struct tm_thread *thread_first(void);

/* The caller has closed the gate (gate.h). */
void thread_add(struct tm_thread *thread);

/* One line on standard error; the process aborts. */
__attribute__((noreturn)) void tm_fatal(const char *what);

#endif
