/*
 * SPDX-License-Identifier: MIT
 *
 * The log of a region while it is open: appending a transaction, copying the log to its places.
 * recovery.h reads the log that it finds at open. format.h says what it looks like.
 *
 * Which store must be durable before which, and who sees to it:
 *   blocks, before the commit record             wal: the first fence of a commit
 *   commit record (wal), blocks (eager),         the last fence of a commit; with deferred commits
 *     before persist_commit returns                that of the next durable one
 *   all of the log, before any place             the first fence of a checkpoint, if it is needed;
 *                                                  of recovery, always: a killed process may have
 *                                                  left stores that are not durable
 *   the places, before the log's new head        the second fence of a checkpoint
 *   the new head, before the log is overwritten  the last fence of a checkpoint
 * Nothing orders the blocks of transactions whose commits are deferred: recovery counts them.
 *
 * Not thread-safe: the caller holds the region's commit lock.
 */
#ifndef MPLACE_PERSIST_LOG_H
#define MPLACE_PERSIST_LOG_H

#include "mplace_persist.h"
#include "persist/format.h"
#include "persist/persistence.h"
#include "persist/write_set.h"

#include <stdbool.h>
#include <stdint.h>

struct log {
    struct persistence *persistence;
    enum persist_log format;
    uint64_t seed;
    struct log_head *heads; /* HEADS of them */
    struct log_group *groups;
    uint64_t group_count;
    uint8_t *memory;                 /* the memory area in the file: where the places are */
    uint64_t lines;                  /* of the memory area */
    uint64_t *dirty;                 /* a bit for each line, all 0 between calls */
    uint64_t dirty_begin, dirty_end; /* words of it that have had one since, from and to */
    uint64_t first_sid;              /* what the head says */
    uint64_t first_txid;
    uint64_t used; /* blocks of this round that are written */
    uint64_t next_txid;
    bool unfenced; /* deferred commits are not durable for certain */
    uint64_t committed, blocks, checkpoints;
};

/* Blocks of data that a transaction may have at most. */
uint64_t log_greatest_transaction(const struct log *log);

/*
 * Appends the transaction that wrote these lines, of which there is at least one; their contents
 * are in view, the memory area. Durable when it returns, as are all before it, unless it is
 * deferred. 0, or what msync failed with: then the log may or may not have it.
 */
int log_commit(struct log *log, const struct write_set *set, const uint8_t *view, bool deferred);

/* Makes all commits durable. 0, or what msync failed with. */
int log_flush(struct log *log);

/* Copies all transactions to their places, durably, and begins a new round. The same errors. */
int log_checkpoint(struct log *log);

/* For recovery. A block of the current round by its number: the tag, the data; and whether it is
   whole. */
struct block_tag *log_tag(const struct log *log, uint64_t block);
uint8_t *log_data(const struct log *log, uint64_t block);
bool log_block_is_whole(const struct log *log, uint64_t block);

/* For recovery. Copies the blocks of transactions before txid to their places, which are durable
   then. */
int log_copy_to_places(struct log *log, uint64_t blocks, uint64_t txid);

/* Writes a head that begins a new round, with the transaction next_txid. */
int log_begin_round(struct log *log);

/* A head that is valid for this seed. */
bool log_head_is_whole(const struct log_head *head, uint64_t seed);

/* Makes the head's checksum. */
void log_head_seal(struct log_head *head, uint64_t seed);

#endif
