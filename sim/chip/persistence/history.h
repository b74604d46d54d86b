/*
 * SPDX-License-Identifier: MIT
 *
 * What the program did, for the check of a power cut: which transactions committed, in which order
 * for each block, what each depends on, and when they were acknowledged. It knows nothing of a
 * protocol.
 *
 * A transaction depends on those that its thread committed before it, on those whose data it read
 * or overwrote, and on what these depend on. For each thread that is a number of transactions: the
 * transaction's clock.
 */
#ifndef CHIP_HISTORY_H
#define CHIP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history_tx {
    uint32_t thread;
    uint32_t number;       /* of the thread's committed transactions, from 1 */
    uint64_t committed;    /* cycle of the commit; UINT64_MAX: open, or aborted */
    uint64_t acknowledged; /* as durable; UINT64_MAX: never */
    uint32_t clock[];      /* a thread */
};

struct history_write {
    struct history_tx *tx;
    uint64_t version;
};

struct history_block {
    uint64_t block;
    struct history_write *writes; /* committed, in order */
    uint32_t count, room;
    bool outside; /* stored to outside of transactions: nothing is promised */
};

struct history {
    uint32_t threads;
    struct history_tx **last; /* a thread: committed */
    struct history_tx **txs;
    size_t tx_count, tx_room;
    struct history_block *blocks;
    size_t block_count, block_room;
};

struct history *history_new(uint32_t threads);
void history_free(struct history *history);

/* A block's index. */
uint32_t history_block(struct history *history, uint64_t block);

struct history_tx *history_begin(struct history *history, uint32_t thread);

/* The transaction reads or overwrites what is in the block. */
void history_access(struct history *history, struct history_tx *tx, uint32_t block);

/* A store outside of transactions. */
void history_outside(struct history *history, uint32_t block);

/* It commits: first each of its blocks, then the transaction. */
void history_write(struct history *history, struct history_tx *tx, uint32_t block,
                   uint64_t version);
void history_commit(struct history *history, struct history_tx *tx, uint64_t time);

#endif
