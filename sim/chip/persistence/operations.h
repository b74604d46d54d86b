/*
 * SPDX-License-Identifier: MIT
 *
 * What is on its way to persistent memory. A block group is written in one burst and persists as a
 * whole: its blocks go to the banks of memory that their addresses say, and the group counts when
 * the last of them is written. All other operations are one block.
 */
#ifndef CHIP_OPERATIONS_H
#define CHIP_OPERATIONS_H

#include "chip/persistence/protocol.h"

/* Writes these versions to the log, seven to a block group. Each write that is WRITE_CACHED becomes
 * WRITE_LOGGING and then WRITE_LOGGED, unless it is stored to meanwhile; its transaction has an
 * operation under way until then. `last`: a transaction's last one carries its TxCnt. */
void operations_log(struct persistence *persistence, struct write **writes, uint32_t count,
                    bool last);

/* The same for a tag without a block: TxCnt of a transaction whose blocks are all in the log. */
void operations_log_count(struct persistence *persistence, struct tx *tx);

/* Writes one block with up to LOG_GROUP records to the log; `done` is called when it persisted. */
struct operation *operations_record(struct persistence *persistence, struct tx *tx,
                                    const struct record *records, uint32_t count,
                                    void (*done)(struct persistence *, struct operation *));

/* The same in a bank that is not volatile: the block of `write` in its own bank or, if that is
 * NULL, the record in the first bank. The record of a block is in operation->flushed. */
void operations_bank(struct persistence *persistence, struct tx *tx, struct write *write,
                     const struct record *record,
                     void (*done)(struct persistence *, struct operation *));

/* Writes the version home, after what is on its way to the same place. `agent`: who has it. */
void operations_home(struct persistence *persistence, struct write *write, unsigned agent);

/* Writes a block of memory as it is: `block` and a version. */
struct operation *operations_block(struct persistence *persistence, uint64_t block,
                                   uint64_t version, unsigned agent, unsigned core,
                                   void (*done)(struct persistence *, struct operation *));

/* For operations that nobody waits for. */
void operations_ignore(struct persistence *persistence, struct operation *operation);

/* Needs not go home: it is there, or a later one is durable. */
void operations_at_home(struct write *write);

/* The head of the log passes what is over. */
void operations_truncate(struct persistence *persistence);

/* A record persists now. */
void timeline_append(struct persistence *persistence, const struct record *record);

/* For struct persist_hooks, whose owner is the persistence. */
void operations_persisted(void *owner, const struct message *message);

#endif
