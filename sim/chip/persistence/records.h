/*
 * SPDX-License-Identifier: MIT
 *
 * What is written to persistent memory, as a power cut leaves it. Data are not bytes: each store to
 * a persistent block makes a version, a number that no other store has, and a block's contents are
 * the number of a version, 0 before the first one.
 */
#ifndef CHIP_RECORDS_H
#define CHIP_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum record_kind {
    RECORD_HOME,     /* address, data: the block's own place in memory */
    RECORD_ENTRY,    /* tx, order, address, data, count, sid: a block of the log with its tag */
    RECORD_COMMIT,   /* tx, order: the commit record of a WAL, or the flip of Kiln's state */
    RECORD_CLEAR,    /* tx: no commit record is left of it, and of those of its thread before */
    RECORD_PAIR,     /* tx, order, other, count, total: <Tx, Ty, n> and Tx's TxCnt */
    RECORD_HEAD,     /* order, sid: the log begins with this transaction and this block group */
    RECORD_BANK,     /* as ENTRY: a block in a non-volatile bank; `sid` names the place */
    RECORD_BANK_OUT, /* sid: it left its bank */
    RECORD_LOG_END,  /* tx: of this one the log in memory has nothing any more */
    RECORD_FORGET,   /* tx: no block has it as its state */
};

struct record {
    uint64_t time;    /* cycle in which it had persisted */
    uint64_t tx;      /* <CID, TID, TxID> */
    uint64_t order;   /* commit issue number, from 1; 0: not known when it was written */
    uint64_t address; /* ADDR, a block; RECORD_NO_ADDRESS: a tag alone */
    uint64_t data;    /* version */
    uint64_t sid;     /* of the block group */
    uint64_t other;   /* Ty */
    uint32_t count;   /* TxCnt, 0 if it is not the last block; of a pair, n */
    uint32_t total;   /* of a pair, TxCnt of Tx */
    uint8_t kind;
};

#define RECORD_NO_ADDRESS UINT64_MAX

/* What has persisted, in the order of time. */
struct timeline {
    struct record *records;
    size_t count, room;
};

#endif
