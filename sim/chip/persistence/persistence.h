/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions on persistent memory, as the cores see them. The protocols are those of
 * persistence.protocol; protocol.h says what one of them does.
 *
 * A block is persistent if it lies in a region that a mark of the trace named or, of a trace
 * without such marks, if a transaction stores to it. Threads are named by the numbers that the
 * cores give them. What returns false makes the thread wait: it has done nothing, or not all, and
 * is called again after `resume` was called for the thread.
 *
 * Isolation is the program's business, for its locks are replayed, but all protocols work on whole
 * blocks. So an access to a block that another thread's open transaction has stored to waits until
 * that one is over. Where threads would wait for one another for ever, one of them goes on, and
 * `overlaps` counts it: no protocol promises anything for such a program.
 */
#ifndef CHIP_PERSISTENCE_H
#define CHIP_PERSISTENCE_H

#include "chip/coherence/fabric.h"
#include "chip/persistence/mutants.h"

/* What is counted, from the beginning of the region of interest to its end. */
struct persistence_counts {
    uint64_t transactions;      /* committed */
    uint64_t log_writes;        /* blocks of data written to the log */
    uint64_t home_writes;       /* blocks written to their places in memory */
    uint64_t forced_evictions;  /* blocks that a cache evicted to the log before their time */
    uint64_t version_overflows; /* old versions for which a set had no way */
    uint64_t coalesced_writes;  /* versions that were never written, as a later one was */
    uint64_t log_bytes;         /* data, tags, commit records, pairs and heads */
};

struct persistence;
struct history;
struct timeline;

/* `resume`: the thread may be called again. NULL: out of memory. The fabric stays. */
struct persistence *persistence_new(struct fabric *fabric, uint32_t threads,
                                    void (*resume)(void *owner, uint32_t thread), void *owner);
void persistence_free(struct persistence *persistence);

/* Keeps from now on what power cuts need: what has persisted when, and what the program did. */
void persistence_record(struct persistence *persistence);

/* The program's blocks from `first` to `last` are persistent. */
void persistence_region(struct persistence *persistence, uint64_t first, uint64_t last);

/* True: nothing ever waits, persistence.protocol = none. */
bool persistence_is_none(const struct persistence *persistence);

/* A transaction that stored something has committed. */
bool persistence_has_committed(const struct persistence *persistence);

bool persistence_begin(struct persistence *persistence, uint32_t thread, unsigned core);

/* All stores of the thread are done. */
bool persistence_commit(struct persistence *persistence, uint32_t thread, uint64_t time);
bool persistence_abort(struct persistence *persistence, uint32_t thread);

/* An access to *block, which may be replaced by another block that is accessed in its place. */
bool persistence_access(struct persistence *persistence, uint32_t thread, uint64_t *block,
                        bool write);

/* A flush outside of transactions is the paper's TxFlush: what the thread committed is durable. */
bool persistence_flush(struct persistence *persistence, uint32_t thread);

/* No event is left: one thread that waits for another's transaction goes on. False: there is none.
 */
bool persistence_let_one_in(struct persistence *persistence);

/* All threads are over: what is not home is written there. False: nothing is left to do. */
bool persistence_drain(struct persistence *persistence);

/* The region of interest begins or ends. */
void persistence_restart(struct persistence *persistence);
void persistence_stop(struct persistence *persistence);

const struct persistence_counts *persistence_counts(const struct persistence *persistence);
uint64_t persistence_overlaps(const struct persistence *persistence);

#endif
