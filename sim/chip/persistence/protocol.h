/*
 * SPDX-License-Identifier: MIT
 *
 * What the protocols share: the transactions that are not over, their writes, and the operations
 * that are on their way to persistent memory.
 *
 * A write is one transaction's version of one block. The writes of a block are a list from the
 * newest to the oldest; the newest is what a load sees. Its transaction is over when its version is
 * home, or needs not go there because a later one is durable, and the log's head has passed it.
 */
#ifndef CHIP_PERSISTENCE_PROTOCOL_H
#define CHIP_PERSISTENCE_PROTOCOL_H

#include "chip/caches/array.h"
#include "chip/coherence/persist_hooks.h"
#include "chip/persistence/history.h"
#include "chip/persistence/persistence.h"
#include "chip/persistence/records.h"
#include "chip/persistence/regions.h"

enum {
    LOG_GROUP = 8, /* blocks of a block group: seven of data, one of tags */
    LOG_PAIRS = 4, /* dependency pairs of a block */
    TX_TABLE = 128 /* the paper's Tx state table */
};

enum write_state {
    WRITE_CACHED,    /* TxDirty: in no log */
    WRITE_LOGGING,   /* on its way to the log */
    WRITE_LOGGED,    /* persistent, whether its transaction is or not */
    WRITE_COALESCED, /* never to be written: a later committed transaction's version was */
};

struct write {
    struct tx *tx;
    struct block_state *block;
    struct write *older, *newer; /* of the block */
    struct line *place;          /* of an old version: its way in the bank; NULL: none */
    struct home *bank;           /* of the place */
    uint64_t version;
    uint64_t slot; /* its tag in a bank; s-wal: the block of its copy */
    uint64_t sid;  /* s-wal, kiln: the place of the copy in the order of the log */
    uint64_t log;  /* its block of the log in memory; 0: none */
    uint8_t state; /* enum write_state */
    bool banked;   /* kiln: a bank has it, */
    bool resident; /* as the block itself and not as a version, */
    bool leaving;  /* and gives it to the log in memory */
    bool evicted;  /* the last level gave it away */
    bool home;     /* the version is home, or needs not go there */
    bool to_home;  /* on its way there, or waiting for the one before */
};

enum tx_state {
    TX_ACTIVE,
    TX_LOGGING,  /* the commit was issued; its blocks are on their way to the log */
    TX_RECORD,   /* its commit record is */
    TX_CLEANING, /* kiln: durable; what the log in memory has goes home */
    TX_DURABLE,  /* it would survive a power cut, and was acknowledged */
    TX_ABORTED,
};

struct tx {
    struct tx *next;         /* in the order of the commits */
    struct history_tx *past; /* NULL: nothing is recorded */
    struct write **writes;
    uint32_t write_count, write_room;
    uint64_t id;        /* <CID, TID, TxID> */
    uint64_t order;     /* commit issue number; 0: not committed */
    uint64_t first_sid; /* of its first block group */
    uint32_t thread;
    uint32_t logged;    /* blocks in the log, or on their way */
    uint32_t coalesced; /* versions that will never be there */
    uint32_t pending;   /* operations under way */
    uint32_t home_left; /* versions that are not home, from the commit on */
    uint16_t core;
    uint8_t state; /* enum tx_state */
    bool windowed; /* loc-kiln: its window is not complete */
    bool open;     /* others must not see its versions */
};

/* What is known of a persistent block: the paper's Tx dirty block table. */
struct block_state {
    uint64_t block;
    struct write *newest;
    struct write *home_next; /* waits for the home write that is under way */
    uint32_t index;          /* in the history */
    bool home_busy;
    bool dirty;       /* none, s-wal: the caches have a newer version than memory */
    uint64_t version; /* none, s-wal: of the last store */
};

/* Block writes that persist together. */
struct operation {
    void (*done)(struct persistence *persistence, struct operation *operation);
    struct write *writes[LOG_GROUP];
    struct record records[LOG_GROUP];
    struct record flushed; /* kiln: to a bank */
    struct tx *tx;
    uint32_t record_count, write_count;
    uint32_t pending;           /* blocks */
    struct software_line *line; /* s-wal */
    uint32_t number, next_free;
};

struct thread_state {
    struct tx *tx;   /* open, or committing; NULL under none */
    struct tx *last; /* h-wal: the one before, while it is not over */
    uint32_t begun;  /* transactions */
    bool in_tx;      /* between begin and commit or abort */
    bool committed;  /* the transaction was closed; the thread does not know yet */
    bool waits;
    bool overlaps; /* it waits for another's open transaction */
    bool let_in;   /* and goes on without that */
};

struct persistence_protocol {
    bool home_flushes; /* persistence.flush = paper: a block that is taken home leaves the caches */
    /* NULL: nothing to do. False: out of memory. */
    bool (*init)(struct persistence *persistence);
    /* False: no transaction can begin now. */
    bool (*begin)(struct persistence *persistence);
    /* The transaction has stored to the block for the first time: `write`. NULL: nothing to do. */
    void (*stored)(struct persistence *persistence, struct write *write);
    /* The block that its transaction accesses in place of the one of `write`. NULL: the same. */
    uint64_t (*redirect)(struct persistence *persistence, const struct write *write, bool stores);
    /* Called until the transaction is closed. */
    void (*commit)(struct persistence *persistence, struct tx *tx, uint64_t time);
    void (*abort)(struct persistence *persistence, struct tx *tx);
    /* A bank evicts the block, of which `write` is the newest version. */
    void (*evicted)(struct persistence *persistence, struct write *write, unsigned agent);
    /* The same of any block that is modified, in place of `evicted`. True: it is seen to. */
    bool (*evicted_block)(struct persistence *persistence, uint64_t block, unsigned agent,
                          unsigned core);
    /* A version lost its place. NULL: it has none. */
    void (*displaced)(struct persistence *persistence, struct write *write, unsigned agent);
    /* kiln: the block comes to its bank; and leaves it for a core. Returns the version that stays.
     */
    void (*arrived)(struct persistence *persistence, struct block_state *block);
    struct write *(*departed)(struct persistence *persistence, struct block_state *block);
    /* The version is home. NULL: the log's head may pass its transaction then. */
    void (*homed)(struct persistence *persistence, struct write *write);
    /* All that the transaction had under way to the log is there. */
    void (*logged)(struct persistence *persistence, struct tx *tx);
    /* TxFlush. False: not all that the thread committed is durable. NULL: it always is. */
    bool (*flush)(struct persistence *persistence, uint32_t thread);
    /* At the end of all threads. False: nothing is left to do. NULL: the same. */
    bool (*drain)(struct persistence *persistence);
    /* Of protocols with windows: the window is persisted; and durable versions of so many of the
     * oldest transactions go home. */
    void (*close_window)(struct persistence *persistence);
    void (*checkpoint)(struct persistence *persistence, uint32_t transactions);
};

struct persistence {
    struct persist_hooks hooks;
    const struct persistence_protocol *protocol; /* NULL: none */
    struct fabric *fabric;
    const struct machine *machine;
    void (*resume)(void *owner, uint32_t thread);
    void *owner;
    struct thread_state *threads;
    uint32_t thread_count;
    struct block_map blocks;       /* block to struct block_state * */
    struct regions regions;        /* that marks named; none: what transactions store to */
    uint64_t versions;             /* the last one's number */
    uint64_t commits;              /* the last commit issue number */
    struct tx *first, **last_next; /* committed and not over, in order */
    uint32_t live;                 /* transactions that are not over */
    struct operation **operations;
    uint32_t operation_count, operation_free;
    uint64_t next_sid;
    struct {
        struct tx **tx;
        uint32_t count, room;
        uint32_t pending; /* blocks of pairs under way */
        bool closing;     /* it is being persisted */
    } window;             /* committed transactions that are not durable, in order */
    struct record *pairs; /* of the window */
    size_t pair_count, pair_room;
    struct write **slots; /* versions in banks, by slot */
    size_t slot_count, slot_room;
    uint64_t *free_slots;
    size_t free_slot_count;
    struct software *software; /* s-wal: a thread's */
    struct block_map software_lines;
    bool head_busy;
    uint64_t head_order; /* of the head that was written last */
    struct persistence_counts counts, region;
    bool stopped;
    uint64_t overlaps;
    struct history *history;   /* NULL: nothing is recorded */
    struct timeline *timeline; /* the same */
    enum persistence_mutant mutant;
};

extern const struct persistence_protocol software_protocol, wal_protocol, loc_protocol,
    kiln_protocol, loc_kiln_protocol;

/* All threads that wait ask again. */
void persistence_resume(struct persistence *persistence);

/* The commit is issued: the transaction has its place in the order. */
void persistence_issue(struct persistence *persistence, struct tx *tx, uint64_t time);

/* The transaction is no longer open: its thread goes on, its blocks are free for others. */
void persistence_close(struct persistence *persistence, struct tx *tx);

/* The transaction is acknowledged as durable. */
void persistence_acknowledge(struct persistence *persistence, struct tx *tx);

/* The transaction is no longer among those in the order of the commits. */
void persistence_remove(struct persistence *persistence, struct tx *tx);

/* The transaction's versions leave their blocks: what was before is the newest again. */
void persistence_unlink(struct persistence *persistence, struct tx *tx);

/* The transaction is over and freed. Nothing of it is under way. */
void persistence_forget(struct persistence *persistence, struct tx *tx);

#endif
