/*
 * SPDX-License-Identifier: MIT
 *
 * s-wal: write-ahead logging by software, with flushes and fences. The four phases of section II.B,
 * all in the thread itself:
 *
 *   1  a store of a transaction goes to the thread's log: a copy of its own address, in the caches
 *      as any other; so do loads of what the transaction has stored
 *   2  commit: the copies are flushed, and for seven of them a line of tags; a fence; the commit
 *      record, which is a line, is stored and flushed; a fence; the transaction is durable
 *   3  each block is stored to its place from its copy, and flushed; a fence
 *   4  the commit record is cleared and flushed; a fence; the commit is over
 *
 * A flush is the paper's clflush: the line leaves the caches, except with persistence.flush = keep.
 *
 * A bank may evict a line of the log, or of a home in phase 3, at any time: it is written then. A
 * line persists as a whole. Recovery redoes the transactions that have a commit record.
 */
#include "chip/persistence/software.h"

#include "chip/coherence/requester.h"
#include "chip/engine/allocation.h"
#include "chip/persistence/operations.h"

/* Blocks of the logs; a thread has so many of them from its own on. The first is the record's. */
#define SOFTWARE_LOG ((uint64_t)1 << 59)

enum {
    THREAD_SHIFT = 32,
    TAGS_OF_A_LINE = LOG_GROUP - 1,
};

/* What a store of the software leaves in its line; in trace_event.what. */
enum software_store { STORE_TAGS, STORE_RECORD, STORE_HOME, STORE_CLEAR };

/* Marks of the software; in trace_event.what. */
enum software_mark { MARK_DURABLE, MARK_OVER };

/* A line of persistent memory that the software writes. */
struct software_line {
    struct record record;
    uint64_t block;
    uint32_t writes; /* under way */
    uint32_t thread; /* waits for them, */
    bool flushed;    /* if this is set */
    bool dirty;      /* the caches have a newer one */
    bool recorded;   /* `record` says what it has; tags are read with what they tag */
};

struct software {
    struct trace_event *events;
    uint32_t count, room, at;
    uint32_t flushes; /* under way */
    uint64_t lines;   /* of the log, used by the transaction */
};

static struct software *software_of(const struct persistence *persistence, uint32_t thread)
{
    return &persistence->software[thread];
}

static uint64_t first_line(uint32_t thread)
{
    return SOFTWARE_LOG + ((uint64_t)thread << THREAD_SHIFT);
}

/* The next line of the thread's log. A transaction begins with the first one, as the one before has
 * left the log empty: so the caches have most of these lines. */
static uint64_t next_line(struct persistence *persistence, uint32_t thread)
{
    return first_line(thread) + ++software_of(persistence, thread)->lines;
}

static struct software_line *find(const struct persistence *persistence, uint64_t block)
{
    uint64_t *found = block_map_find(&persistence->software_lines, block);

    return found == NULL ? NULL : (struct software_line *)(uintptr_t)*found;
}

/* The line is stored to: it has this record now. NULL: none that recovery reads. */
static void store(struct persistence *persistence, uint64_t block, const struct record *record)
{
    struct software_line *line = find(persistence, block);

    if (line == NULL) {
        line = allocation_checked(calloc(1, sizeof *line));
        *block_map_add(&persistence->software_lines, block) = (uint64_t)(uintptr_t)line;
        line->block = block;
    }
    line->dirty = true;
    line->recorded = record != NULL;
    if (record != NULL)
        line->record = *record;
}

/* A write of the line is over: for who flushed it meanwhile, too. */
static void written(struct persistence *persistence, struct operation *operation)
{
    struct software_line *line = operation->line;
    struct software *software = software_of(persistence, line->thread);

    line->writes--;
    if (line->writes > 0 || !line->flushed)
        return;
    line->flushed = false;
    if (--software->flushes == 0)
        persistence_resume(persistence);
}

/* The line goes to memory as it is. */
static void write_line(struct persistence *persistence, struct software_line *line, unsigned agent,
                       unsigned core)
{
    struct operation *operation =
        operations_block(persistence, line->block, 0, agent, core, written);

    line->dirty = false;
    line->writes++;
    operation->line = line;
    operation->record_count = line->recorded;
    operation->records[0] = line->record;
    if (line->recorded && line->record.kind == RECORD_HOME) {
        persistence->counts.home_writes++;
        return;
    }
    persistence->counts.log_bytes += 64;
    persistence->counts.log_writes += line->recorded && line->record.kind == RECORD_ENTRY;
}

static struct trace_event *add(struct software *software, enum trace_kind kind, uint64_t block)
{
    struct trace_event *event;

    if (software->count == software->room) {
        software->room = software->room == 0 ? 64 : 2 * software->room;
        software->events = allocation_checked(
            realloc(software->events, software->room * sizeof *software->events));
    }
    event = &software->events[software->count++];
    *event = (struct trace_event){.kind = (uint8_t)kind,
                                  .address = block,
                                  .size = kind <= TRACE_NT_STORE ? 8 : 0,
                                  .instructions = 1};
    return event;
}

static void add_store(struct software *software, enum software_store what, uint64_t block,
                      uint64_t value)
{
    struct trace_event *event = add(software, TRACE_STORE, block);

    event->what = (uint8_t)what;
    event->value = value;
    add(software, TRACE_FLUSH, block);
}

static void add_mark(struct software *software, enum software_mark what)
{
    add(software, TRACE_MARK, 0)->what = (uint8_t)what;
}

static void add_home_writes(struct software *software, const struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++) {
        add(software, TRACE_LOAD, tx->writes[i]->slot);
        add_store(software, STORE_HOME, tx->writes[i]->block->block, i);
    }
}

static void add_commit(struct persistence *persistence, const struct tx *tx)
{
    struct software *software = software_of(persistence, tx->thread);
    uint64_t record = first_line(tx->thread);

    software->count = 0;
    software->at = 0;
    for (uint32_t i = 0; i < tx->write_count; i++) {
        add(software, TRACE_FLUSH, tx->writes[i]->slot);
        if (i % TAGS_OF_A_LINE == 0)
            add_store(software, STORE_TAGS, next_line(persistence, tx->thread), 0);
    }
    if (!PERSISTENCE_MUTANT(persistence, LOG_FENCE))
        add(software, TRACE_FENCE, 0);
    if (PERSISTENCE_MUTANT(persistence, HOME_FENCE))
        add_home_writes(software, tx);
    add_store(software, STORE_RECORD, record, 0);
    if (!PERSISTENCE_MUTANT(persistence, RECORD_FENCE))
        add(software, TRACE_FENCE, 0);
    add_mark(software, MARK_DURABLE);
    if (!PERSISTENCE_MUTANT(persistence, HOME_FENCE))
        add_home_writes(software, tx);
    if (!PERSISTENCE_MUTANT(persistence, TRUNCATE_EARLY))
        add(software, TRACE_FENCE, 0);
    add_store(software, STORE_CLEAR, record, 0);
    add(software, TRACE_FENCE, 0);
    add_mark(software, MARK_OVER);
}

bool software_is_due(const struct persistence *persistence, uint32_t thread)
{
    const struct software *software = software_of(persistence, thread);

    return persistence->software != NULL && software->at < software->count;
}

bool software_next(struct persistence *persistence, uint32_t thread, struct trace_event *event)
{
    if (!software_is_due(persistence, thread))
        return false;
    *event = software_of(persistence, thread)->events[software_of(persistence, thread)->at++];
    return true;
}

static void replay_store(struct persistence *persistence, const struct tx *tx,
                         const struct trace_event *event)
{
    struct record record = {.tx = tx->id, .order = tx->order};

    if (event->what == STORE_HOME) {
        record.kind = RECORD_HOME;
        record.address = event->address;
        record.data = tx->writes[event->value]->version;
    } else {
        record.kind = event->what == STORE_RECORD ? RECORD_COMMIT : RECORD_CLEAR;
    }
    store(persistence, event->address, event->what == STORE_TAGS ? NULL : &record);
}

static void replay_flush(struct persistence *persistence, uint32_t thread, unsigned core,
                         uint64_t block)
{
    struct software_line *line = find(persistence, block);

    if (line == NULL)
        return;
    if (line->dirty)
        write_line(persistence, line, core, core);
    if (persistence->machine->persistence.flush != MACHINE_FLUSH_KEEP)
        requester_flush(persistence->fabric, core, block, true);
    if (line->writes == 0 || line->flushed)
        return; /* it is in memory, or is waited for already */
    line->flushed = true;
    line->thread = thread;
    software_of(persistence, thread)->flushes++;
}

bool software_replay(struct persistence *persistence, uint32_t number,
                     const struct trace_event *event)
{
    struct thread_state *thread = &persistence->threads[number];
    struct tx *tx = thread->tx;

    switch (event->kind) {
    case TRACE_STORE:
        replay_store(persistence, tx, event);
        return true;
    case TRACE_FLUSH:
        replay_flush(persistence, number, tx->core, event->address);
        return true;
    case TRACE_FENCE:
        thread->waits = software_of(persistence, number)->flushes > 0;
        return !thread->waits;
    case TRACE_MARK:
        if (event->what == MARK_DURABLE) {
            persistence_acknowledge(persistence, tx);
        } else {
            software_of(persistence, number)->lines = 0;
            persistence_close(persistence, tx);
            persistence_remove(persistence, tx);
            persistence_forget(persistence, tx);
        }
        return true;
    default:
        return true;
    }
}

static bool begin(struct persistence *persistence)
{
    (void)persistence;
    return true;
}

static void stored(struct persistence *persistence, struct write *write)
{
    write->slot = next_line(persistence, write->tx->thread);
    write->sid = persistence->next_sid++;
}

/* The transaction's copy of the block. */
static uint64_t redirect(struct persistence *persistence, const struct write *write, bool stores)
{
    struct record record = {.kind = RECORD_ENTRY,
                            .tx = write->tx->id,
                            .address = write->block->block,
                            .data = write->version,
                            .sid = write->sid};

    if (stores)
        store(persistence, write->slot, &record);
    return write->slot;
}

static void commit(struct persistence *persistence, struct tx *tx, uint64_t time)
{
    if (tx->state != TX_ACTIVE)
        return;
    persistence_issue(persistence, tx, time);
    add_commit(persistence, tx);
}

static void abort_tx(struct persistence *persistence, struct tx *tx)
{
    software_of(persistence, tx->thread)->lines = 0; /* the log has no commit record of it */
}

static bool evicted_block(struct persistence *persistence, uint64_t block, unsigned agent,
                          unsigned core)
{
    struct software_line *line = find(persistence, block);

    if (line == NULL || !line->dirty)
        return line != NULL;
    persistence->counts.forced_evictions += line->recorded && line->record.kind == RECORD_ENTRY;
    write_line(persistence, line, agent, core);
    return true;
}

void software_free(struct persistence *persistence)
{
    for (uint32_t i = 0; persistence->software != NULL && i < persistence->thread_count; i++)
        free(persistence->software[i].events);
    for (size_t i = 0;
         persistence->software_lines.used > 0 && i <= persistence->software_lines.mask; i++)
        if (persistence->software_lines.entries[i].block != UINT64_MAX)
            free((void *)(uintptr_t)persistence->software_lines.entries[i].value);
    block_map_destroy(&persistence->software_lines);
    free(persistence->software);
}

static bool init(struct persistence *persistence)
{
    persistence->software = calloc(persistence->thread_count, sizeof *persistence->software);
    return persistence->software != NULL;
}

const struct persistence_protocol software_protocol = {
    .init = init,
    .begin = begin,
    .stored = stored,
    .redirect = redirect,
    .commit = commit,
    .abort = abort_tx,
    .evicted_block = evicted_block,
};
