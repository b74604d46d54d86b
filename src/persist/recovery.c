/*
 * SPDX-License-Identifier: MIT
 *
 * See recovery.h.
 */
#include "persist/recovery.h"

#include "persist/mutant.h"

#include <errno.h>
#include <stdlib.h>

/* Of one transaction, by TxID from the head's first_txid on. */
struct found {
    uint32_t blocks; /* whole blocks of data */
    uint32_t total;  /* TxCnt, where there is one */
};

/* The head with the greatest SID of those that are whole; NULL if none is. */
static const struct log_head *newest_head(const struct log *log)
{
    const struct log_head *newest = NULL;

    for (int i = 0; i < HEADS; i++) {
        const struct log_head *head = &log->heads[i];

        if (log_head_is_whole(head, log->seed) &&
            (newest == NULL || head->first_sid > newest->first_sid))
            newest = head;
    }
    return newest;
}

/* Whether the log has a group of the round after the head's. A round's head is durable before its
   first group: so it was not torn but damaged later, and what the log holds cannot be read. */
static bool next_head_is_lost(const struct log *log)
{
    for (uint64_t group = 0; group < log->group_count; group++) {
        if (log->groups[group].sid == log->first_sid + log->group_count + group)
            return true;
    }
    return false;
}

/* Counts the blocks of each transaction; found has an entry for each block of the log. Returns how
   many entries are in use. */
static uint64_t count_blocks(const struct log *log, struct found *found)
{
    uint64_t all = log->group_count * GROUP_BLOCKS, used = 0;

    for (uint64_t block = 0; block < all; block++) {
        const struct block_tag *tag = log_tag(log, block);
        uint64_t index = (tag->number >> TXID_SHIFT) - log->first_txid;

        /* Each transaction has a block at least, so what is beyond is of an earlier round. */
        if (index >= all || !log_block_is_whole(log, block))
            continue;
        if (tag->mask != 0)
            found[index].blocks++;
        if ((tag->number & TXCNT_GREATEST) != 0)
            found[index].total = tag->number & TXCNT_GREATEST;
        if (used <= index)
            used = index + 1;
    }
    return used;
}

static bool is_committed(const struct log *log, const struct found *found)
{
    if (log->format == PERSIST_LOG_WAL || MUTANT(NO_COUNT))
        return found->total != 0;
    return found->total != 0 && found->blocks == found->total;
}

/* How many transactions of the log are committed, in *committed. */
static int judge(const struct log *log, const struct found *found, uint64_t used,
                 uint64_t *committed)
{
    uint64_t count = 0;

    while (count < used && is_committed(log, &found[count]))
        count++;
    if (MUTANT(NO_ORDER)) {
        for (count = used; count > 0 && !is_committed(log, &found[count - 1]);)
            count--;
    }
    *committed = count;
    if (log->format != PERSIST_LOG_WAL)
        return 0;
    /* The fences allow neither blocks that miss below a commit record nor a record after a gap. */
    for (uint64_t i = 0; i < used; i++) {
        if (found[i].total != 0 && (i >= count || found[i].blocks != found[i].total))
            return EBADMSG;
    }
    return 0;
}

/* A process that was killed leaves stores that all can read and none has made durable: so the head
   and the committed blocks are flushed before a place is written to. */
static int make_durable(const struct log *log, const struct log_head *head, uint64_t committed)
{
    uint64_t all = log->group_count * GROUP_BLOCKS;

    if (MUTANT(NO_RECOVERY_FENCE))
        return 0;
    persistence_flush(log->persistence, head);
    for (uint64_t block = 0; block < all; block++) {
        const struct block_tag *tag = log_tag(log, block);

        if ((tag->number >> TXID_SHIFT) - log->first_txid >= committed)
            continue;
        persistence_flush(log->persistence, log_data(log, block));
        persistence_flush(log->persistence, tag); /* a group's first has the SID beside it */
    }
    return persistence_fence(log->persistence);
}

int recovery_run(struct log *log, uint64_t *recovered)
{
    const struct log_head *head = newest_head(log);
    uint64_t all = log->group_count * GROUP_BLOCKS, used;
    struct found *found;
    int error;

    if (head == NULL)
        return EBADMSG;
    log->first_sid = head->first_sid;
    log->first_txid = head->first_txid;
    if (next_head_is_lost(log))
        return EBADMSG;
    found = calloc(all, sizeof *found);
    if (found == NULL)
        return ENOMEM;
    used = count_blocks(log, found);
    error = judge(log, found, used, recovered);
    free(found);
    if (error != 0)
        return error;
    log->next_txid = log->first_txid + *recovered;
    log->unfenced = false;
    error = make_durable(log, head, *recovered);
    if (error != 0)
        return error;
    error = log_copy_to_places(log, all, log->next_txid);
    if (MUTANT(RECOVERY_KEEPS_HEAD)) {
        log->first_txid = log->next_txid; /* and the next blocks are written over the old ones */
        log->used = 0;
        return error;
    }
    return error != 0 ? error : log_begin_round(log);
}
