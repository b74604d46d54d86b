/*
 * SPDX-License-Identifier: MIT
 *
 * See log.h.
 */
#include "persist/log.h"

#include "persist/bytes.h"
#include "persist/checksum.h"
#include "persist/mutant.h"
#include "persist/thread_number.h"

#include <string.h>

enum { TAG_WORDS = 4, DATA_WORDS = PERSIST_LINE / 8 };

struct block_tag *log_tag(const struct log *log, uint64_t block)
{
    return &log->groups[block / GROUP_BLOCKS].tag[block % GROUP_BLOCKS];
}

uint8_t *log_data(const struct log *log, uint64_t block)
{
    return log->groups[block / GROUP_BLOCKS].data[block % GROUP_BLOCKS];
}

static uint64_t sid_of(const struct log *log, uint64_t block)
{
    return log->first_sid + block / GROUP_BLOCKS;
}

static uint64_t tag_checksum(const struct log *log, uint64_t sid, const struct block_tag *tag,
                             const uint8_t *data)
{
    uint64_t words[TAG_WORDS + DATA_WORDS] = {tag->place, tag->number, tag->mask, sid};

    if (tag->mask == 0)
        return checksum_words(words, TAG_WORDS, log->seed);
    memcpy(words + TAG_WORDS, data, PERSIST_LINE);
    return checksum_words(words, TAG_WORDS + DATA_WORDS, log->seed);
}

bool log_block_is_whole(const struct log *log, uint64_t block)
{
    const struct log_group *group = &log->groups[block / GROUP_BLOCKS];
    const struct block_tag *tag = log_tag(log, block);
    uint64_t sid = sid_of(log, block);

    if (MUTANT(NO_SEQUENCE))
        sid = group->sid;
    if (group->sid != sid || tag->number >> TXID_SHIFT == 0 ||
        tag->place >> PLACE_SHIFT >= log->lines)
        return false;
    return MUTANT(NO_CHECKSUM) ||
           tag->checksum == tag_checksum(log, sid, tag, log_data(log, block));
}

uint64_t log_greatest_transaction(const struct log *log)
{
    uint64_t blocks = log->group_count * GROUP_BLOCKS - 1; /* one for wal's commit record */

    return blocks < TXCNT_GREATEST ? blocks : TXCNT_GREATEST;
}

/* Writes the next block; data is NULL for a commit record. Flushes what is complete: the data, and
   the line of tags when the next tag is in another one. */
static void append(struct log *log, uint64_t place, uint64_t number, uint64_t mask,
                   const uint8_t *data)
{
    uint64_t block = log->used++, sid = sid_of(log, block);
    struct block_tag tag = {.place = place, .number = number, .mask = mask};
    struct block_tag *target = log_tag(log, block);

    if (data != NULL) {
        persistence_store(log->persistence, log_data(log, block), data, PERSIST_LINE);
        if (!MUTANT(NO_DATA_FLUSH))
            persistence_flush(log->persistence, log_data(log, block));
        log->blocks++;
    }
    if (block % GROUP_BLOCKS == 0)
        persistence_store(log->persistence, &log->groups[block / GROUP_BLOCKS].sid, &sid,
                          sizeof sid);
    tag.checksum = tag_checksum(log, sid, &tag, data);
    persistence_store(log->persistence, target, &tag, sizeof tag);
    /* The last of its line: then the next one begins a line, or a group. */
    if (((uintptr_t)(target + 1) % PERSIST_LINE == 0) && !MUTANT(NO_TAG_FLUSH))
        persistence_flush(log->persistence, target);
}

/* Flushes the line of the last tag, if append did not: before each fence. Tags of later deferred
   commits may still come into it. */
static void flush_last_tag(struct log *log)
{
    struct block_tag *tag = log_tag(log, log->used - 1);

    if ((uintptr_t)(tag + 1) % PERSIST_LINE != 0 && !MUTANT(NO_TAG_FLUSH))
        persistence_flush(log->persistence, tag);
}

int log_flush(struct log *log)
{
    if (!log->unfenced)
        return 0;
    log->unfenced = false;
    flush_last_tag(log);
    return MUTANT(NO_COMMIT_FENCE) ? 0 : persistence_fence(log->persistence);
}

int log_commit(struct log *log, const struct write_set *set, const uint8_t *view, bool deferred)
{
    bool wal = log->format == PERSIST_LOG_WAL;
    uint64_t who = thread_number_cpu() << CID_SHIFT | thread_number();
    uint64_t txid = log->next_txid;
    int error = 0;

    if (log->used + set->count + wal > log->group_count * GROUP_BLOCKS)
        error = log_checkpoint(log);
    if (error != 0)
        return error;
    for (size_t i = 0; i < set->count; i++) {
        const struct written_line *written = &set->lines[i];
        uint64_t count = !wal && i == set->count - 1 ? set->count : 0;
        uint8_t data[PERSIST_LINE] = {0};

        /* Other bytes of the line may be another transaction's at this moment. */
        bytes_copy_masked(data, view + written->line * PERSIST_LINE, written->mask);
        append(log, written->line << PLACE_SHIFT | who, txid << TXID_SHIFT | count, written->mask,
               data);
    }
    log->unfenced = true;
    if (wal) {
        flush_last_tag(log);
        error = MUTANT(NO_RECORD_FENCE) ? 0 : persistence_fence(log->persistence);
        if (error != 0)
            return error;
        append(log, who, txid << TXID_SHIFT | set->count, 0, NULL);
    }
    log->next_txid++;
    log->committed++;
    return deferred && !wal ? 0 : log_flush(log);
}

/* Flushes each line with a bit in dirty, and clears the bits. */
static void flush_places(struct log *log)
{
    for (uint64_t word = log->dirty_begin; word < log->dirty_end; word++) {
        for (uint64_t bits = log->dirty[word]; bits != 0; bits &= bits - 1) {
            uint64_t line = word * 64 + (unsigned)__builtin_ctzll(bits);

            if (!MUTANT(NO_PLACE_FLUSH))
                persistence_flush(log->persistence, log->memory + line * PERSIST_LINE);
        }
        log->dirty[word] = 0;
    }
    log->dirty_begin = log->dirty_end = 0;
}

static void set_dirty(struct log *log, uint64_t line)
{
    uint64_t word = line / 64;

    if (log->dirty_end == 0 || word < log->dirty_begin)
        log->dirty_begin = word;
    if (word >= log->dirty_end)
        log->dirty_end = word + 1;
    log->dirty[word] |= UINT64_C(1) << (line % 64);
}

int log_copy_to_places(struct log *log, uint64_t blocks, uint64_t txid)
{
    for (uint64_t block = 0; block < blocks; block++) {
        const struct block_tag *tag = log_tag(log, block);
        uint64_t line = tag->place >> PLACE_SHIFT;

        if (tag->number >> TXID_SHIFT >= txid || tag->mask == 0 || !log_block_is_whole(log, block))
            continue;
        persistence_store_masked(log->persistence, log->memory + line * PERSIST_LINE,
                                 log_data(log, block), tag->mask);
        set_dirty(log, line);
    }
    flush_places(log); /* once, however many transactions wrote to the line */
    return MUTANT(NO_PLACE_FENCE) ? 0 : persistence_fence(log->persistence);
}

bool log_head_is_whole(const struct log_head *head, uint64_t seed)
{
    return head->first_txid != 0 &&
           (MUTANT(NO_HEAD_CHECKSUM) || head->checksum == checksum_words(head, 2, seed));
}

void log_head_seal(struct log_head *head, uint64_t seed)
{
    head->checksum = checksum_words(head, 2, seed);
}

int log_begin_round(struct log *log)
{
    struct log_head head = {log->first_sid + log->group_count, log->next_txid, 0, {0}};
    uint64_t slot = MUTANT(ONE_HEAD) ? 0 : head.first_sid / log->group_count % HEADS;

    log_head_seal(&head, log->seed);
    persistence_store(log->persistence, &log->heads[slot], &head, sizeof head);
    persistence_flush(log->persistence, &log->heads[slot]);
    log->first_sid = head.first_sid;
    log->first_txid = head.first_txid;
    log->used = 0;
    return MUTANT(NO_HEAD_FENCE) ? 0 : persistence_fence(log->persistence);
}

int log_checkpoint(struct log *log)
{
    int error;

    if (log->used == 0)
        return 0;
    error = MUTANT(NO_LOG_FENCE) ? 0 : log_flush(log);
    if (error == 0)
        error = log_copy_to_places(log, log->used, log->next_txid);
    if (error == 0)
        error = log_begin_round(log);
    if (error == 0)
        log->checkpoints++;
    log->unfenced = false;
    return error;
}
