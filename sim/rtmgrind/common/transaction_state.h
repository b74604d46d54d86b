/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a transaction holds: its checkpoint, its undo log, its lines. How it begins and ends is in
 * transaction.h.
 */
#ifndef RTMGRIND_TRANSACTION_STATE_H
#define RTMGRIND_TRANSACTION_STATE_H

#include "rtmgrind/common/in_flight.h"
#include "rtmgrind/common/options.h"

enum abort_cause {
    ABORT_CONFLICT,       /* another thread, or the kernel for it, came to one of its lines */
    ABORT_WRITE_CAPACITY, /* a written line left the first-level cache */
    ABORT_READ_CAPACITY,  /* a line that was read left the model of the read set */
    ABORT_EXPLICIT,       /* XABORT */
    ABORT_NESTING,        /* an XBEGIN too deep */
    ABORT_SYSTEM_CALL,
    ABORT_PAGE_FAULT, /* a page that is not there, or not with this right */
    ABORT_FAULT,      /* any other exception: division, undefined instruction, alignment */
    ABORT_BREAKPOINT,
    ABORT_INSTRUCTION, /* CPUID, PAUSE and others that never work in a transaction */
    ABORT_SIGNAL,
    ABORT_INTERRUPT,      /* a random one, see --interrupt-rate */
    ABORT_CONTEXT_SWITCH, /* its processor went on with another thread */
    ABORT_SHOOTDOWN,      /* a change of the address space interrupts all processors */
    ABORT_CLIENT_REQUEST, /* a Valgrind client request */
    ABORT_CAUSES,
};

/* All that is known about an abort when it happens; 0 where nothing is. */
struct abort_event {
    enum abort_cause cause;
    UInt code;        /* of XABORT */
    Addr instruction; /* that the transaction could not survive: its own, or */
    Addr requester;   /* the other thread's that asked for the line */
    Addr data;        /* the address accessed */
};

struct site;

/*
 * A line that a transaction wrote, as it was before: those words of it that have a written byte.
 * Only written bytes are put back: a byte beside them may have been changed meanwhile by the kernel
 * or another process.
 */
struct undo {
    Addr line;
    ULong written; /* bit n: byte n */
    Bool watched;  /* a system call has some of the line: see in_flight.h */
    ULong before[LINE_BYTES / sizeof(ULong)];
};

/* Before a store of `size` bytes from `offset` on, all in the line. */
static inline void undo_record(struct undo *undo, UInt offset, UInt size)
{
    ULong bytes = (size == LINE_BYTES ? ~0ULL : (1ULL << size) - 1) << offset;

    if ((undo->written & bytes) == bytes)
        return;
    for (UInt word = offset / 8; word <= (offset + size - 1) / 8; word++) {
        if ((undo->written >> 8 * word & 0xff) == 0)
            undo->before[word] = ((const ULong *)undo->line)[word];
    }
    undo->written |= bytes;
}

/* A line that a transaction read or wrote. */
struct claim {
    Addr instruction; /* that came to it first */
    UInt place;       /* the line's index in the directory of conflict.c */
};

struct footprint {
    struct cache_model l1d;
    struct cache_model l2; /* lines that were read and then left the first level */
};

struct transaction {
    Bool active;
    Int cpu;
    ThreadId thread;
    UInt depth;
    UInt defeats; /* conflicts that this processor lost since it last committed */
    Addr begin;   /* address of the outermost XBEGIN */
    struct site *site;
    Addr fallback; /* where it goes on after an abort */
    Guest *guest;
    struct footprint footprint;
    struct undo *undo;
    UInt undo_used, undo_room;
    struct claim *claims; /* its lines */
    UInt claims_used, claims_room;
    Guest checkpoint;
};

/* By processor. The array is set up once all options are known. */
extern struct transaction *transactions;

/* How many are active. It grows only by an XBEGIN, which ends its block of code. */
extern UInt transactions_active;

/* What the address of the code that runs next is marked with: HOOKED_MARK while any is active, or
 * nothing; see variants.h. Translated code loads it. */
extern Addr transactions_mark;

/* The transaction that the running thread is in, or NULL. */
extern struct transaction *transaction_running;

/* transaction_abort, for the files that transaction.c includes: it ends a transaction that has to
 * give way. Set by transactions_init. */
extern void (*abort_transaction)(struct transaction *, const struct abort_event *);

enum { STATUS_NESTED = 1 << 5, NESTING_MOST = 7 };

void transaction_make_room_for_undo(struct transaction *transaction);

/* Adds a line to the undo log, with nothing written yet; returns its entry, which moves when the
 * next one is added. */
static inline struct undo *transaction_log(struct transaction *transaction, Addr line)
{
    if (UNLIKELY(transaction->undo_used == transaction->undo_room))
        transaction_make_room_for_undo(transaction);
    struct undo *undo = &transaction->undo[transaction->undo_used++];
    undo->line = line;
    undo->written = 0;
    undo->watched = in_flight(line, LINE_BYTES);
    return undo;
}

#endif
