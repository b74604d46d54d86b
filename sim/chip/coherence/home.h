/*
 * SPDX-License-Identifier: MIT
 *
 * A home: a bank of the last level, and what knows who else has its blocks.
 */
#ifndef CHIP_HOME_H
#define CHIP_HOME_H

#include "chip/coherence/directory.h"
#include "chip/coherence/fabric.h"
#include "chip/coherence/filter.h"

enum transaction_kind {
    TRANSACTION_READ,
    TRANSACTION_WRITE,
    TRANSACTION_RECALL, /* all tokens come home: the home evicts the block, or its entry */
};

struct transaction {
    struct transaction *next; /* in the list of free or of stalled ones */
    uint64_t block;
    uint64_t asked;               /* cores */
    uint64_t answered;            /* of them */
    uint64_t found;               /* cores that said that they have tokens */
    struct line held;             /* tokens and data of the block for which its bank has no place */
    struct message *first, *last; /* requests that wait */
    uint16_t requester;
    uint16_t awaited;    /* flushes */
    uint8_t kind;        /* enum transaction_kind */
    uint8_t supplied_by; /* 1 + the core that gave a reader its data and keeps the owner token */
    bool supplied;       /* tokens are on their way to the requester, or with it */
    bool unblocked;
    bool rebuilt;   /* flask: all cores were asked, for the directory had no entry */
    bool for_entry; /* RECALL: for an entry of the directory */
    bool owner;     /* the requester told that it has the owner token */
};

/* What differs between protocols. */
struct home_policy {
    /*
     * Which cores have to be asked for the request, beside the home's own copy (NULL: none). False:
     * not now; the transaction is stalled.
     */
    bool (*whom)(struct home *home, struct transaction *transaction, const struct line *copy,
                 uint64_t *cores);
    /* The request is served: the directory learns it. */
    void (*served)(struct home *home, struct transaction *transaction);
    /* Cores that may have tokens, for a recall; what the directory knows of the block is forgotten.
     */
    uint64_t (*forget)(struct home *home, uint64_t block);
};

struct home {
    struct fabric *fabric;
    const struct home_policy *policy;
    unsigned agent;
    struct array llc;
    struct directory directory;
    bool has_filter;
    struct filter filter;
    uint64_t port_free;            /* when the bank can begin the next lookup */
    uint64_t persist_free;         /* not volatile: when it can begin the next block to keep */
    uint64_t when;                 /* when what the present message causes leaves */
    struct block_map transactions; /* block to struct transaction * */
    struct transaction *free;
    struct transaction *stalled;
    /* The adaptive partition: since the last decision. */
    uint32_t requests, rebuilds, false_positives, overflows;
};

/* False: out of memory. `entries` and `ways` 0: no directory. */
bool home_init(struct home *home, struct fabric *fabric, unsigned index,
               const struct home_policy *policy, uint32_t rows, uint32_t ways, uint32_t ways_most);
void home_destroy(struct home *home);

/* What the home has of the block, or NULL. */
struct line *home_copy(struct home *home, uint64_t block);

struct transaction *home_transaction(const struct home *home, uint64_t block);

/* For directory_victim: blocks in a transaction keep their entries. */
bool home_is_busy(void *home, uint64_t block);

/* Rows of a bank's directory: its part of `coherence.directory` percent of the private blocks. */
uint32_t home_directory_rows(const struct machine *machine);

/*
 * A new entry of the transaction's block, which has none. An entry that goes for it is `evicted`,
 * which has no block if there is none. NULL: each place of the set has a block in a transaction.
 */
struct directory_entry *home_entry_new(struct home *home, const struct transaction *transaction,
                                       struct directory_entry *evicted);

/* The entry of the block, if there is one, learns that the request is served. */
void home_entry_served(struct home *home, const struct transaction *transaction);

/* It learns that a core gave its tokens back; without sharers it goes. */
void home_entry_left(struct home *home, uint64_t block, unsigned core, bool owner);

/* It goes. Returns its sharers, 0 without one. */
uint64_t home_entry_forget(struct home *home, uint64_t block);

/* A new transaction of a block that has none. Ends the process with one line if there is no memory.
 */
struct transaction *home_begin(struct home *home, uint64_t block, enum transaction_kind kind,
                               unsigned requester);

#endif
