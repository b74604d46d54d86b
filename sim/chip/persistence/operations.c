/*
 * SPDX-License-Identifier: MIT
 *
 * Operations; see operations.h.
 */
#include "chip/persistence/operations.h"

#include "chip/engine/allocation.h"
#include "chip/persistence/banks.h"

#include <string.h>

enum { NONE = UINT32_MAX };

/* The log's blocks are no program's. */
#define LOG_FIRST ((uint64_t)1 << 60)

static struct operation *new_operation(struct persistence *persistence)
{
    uint32_t number = persistence->operation_free;
    struct operation *operation;

    if (number == NONE) {
        number = persistence->operation_count++;
        persistence->operations = allocation_checked(
            realloc(persistence->operations,
                    persistence->operation_count * sizeof *persistence->operations));
        persistence->operations[number] = allocation_checked(malloc(sizeof *operation));
        persistence->operations[number]->next_free = NONE;
    }
    operation = persistence->operations[number];
    persistence->operation_free = operation->next_free;
    memset(operation, 0, sizeof *operation);
    operation->number = number;
    return operation;
}

/* The agent asks memory for an access to a block of the operation. */
static void ask_memory(struct persistence *persistence, struct operation *operation,
                       enum message_type type, uint64_t block, unsigned agent, unsigned core)
{
    struct fabric *fabric = persistence->fabric;
    struct message *message =
        fabric_message(fabric, type, agent, fabric_memory_agent(fabric, block), block, core);

    message->data = type == MESSAGE_PERSIST;
    message->version = operation->number;
    operation->pending++;
    fabric_send(fabric, message, fabric->queue.now);
}

/* A block of the operation leaves the agent for memory. */
static void send_block(struct persistence *persistence, struct operation *operation, uint64_t block,
                       unsigned agent, unsigned core)
{
    ask_memory(persistence, operation, MESSAGE_PERSIST, block, agent, core);
}

/* The log is a ring of block groups. Each begins in another bank of memory. */
static uint64_t log_block(const struct persistence *persistence, uint64_t sid, unsigned place)
{
    uint64_t groups = persistence->machine->persistence.log / 64 / LOG_GROUP;

    return LOG_FIRST + sid % groups * LOG_GROUP + (place + sid) % LOG_GROUP;
}

void timeline_append(struct persistence *persistence, const struct record *record)
{
    struct timeline *timeline = persistence->timeline;

    if (timeline == NULL)
        return;
    if (timeline->count == timeline->room) {
        timeline->room = timeline->room == 0 ? 1024 : 2 * timeline->room;
        timeline->records = allocation_checked(
            realloc(timeline->records, timeline->room * sizeof *timeline->records));
    }
    timeline->records[timeline->count] = *record;
    timeline->records[timeline->count++].time = persistence->fabric->queue.now;
}

void operations_persisted(void *owner, const struct message *message)
{
    struct persistence *persistence = owner;
    struct operation *operation = persistence->operations[message->version];

    if (--operation->pending > 0)
        return;
    for (uint32_t i = 0; i < operation->record_count; i++)
        timeline_append(persistence, &operation->records[i]);
    operation->done(persistence, operation);
    operation->next_free = persistence->operation_free;
    persistence->operation_free = operation->number;
}

static void operation_done(struct persistence *persistence, struct tx *tx)
{
    if (--tx->pending > 0)
        return;
    if (tx->state == TX_ABORTED)
        persistence_forget(persistence, tx);
    else
        persistence->protocol->logged(persistence, tx);
}

static void group_done(struct persistence *persistence, struct operation *operation)
{
    for (uint32_t i = 0; i < operation->write_count; i++)
        if (operation->writes[i]->state == WRITE_LOGGING)
            operation->writes[i]->state = WRITE_LOGGED;
    for (uint32_t i = 0; i < operation->write_count; i++)
        operation_done(persistence, operation->writes[i]->tx);
}

static struct operation *new_group(struct persistence *persistence, struct tx *tx)
{
    struct operation *group = new_operation(persistence);
    uint64_t sid = persistence->next_sid++;

    group->done = group_done;
    send_block(persistence, group, log_block(persistence, sid, LOG_GROUP - 1), tx->core, tx->core);
    persistence->counts.log_bytes += 64;
    return group;
}

static void add_entry(struct persistence *persistence, struct operation *group, struct write *write,
                      uint64_t sid, bool last)
{
    struct tx *tx = write->tx;

    if (tx->first_sid > sid)
        tx->first_sid = sid;
    tx->pending++;
    tx->logged++;
    group->records[group->record_count++] = (struct record){
        .kind = RECORD_ENTRY,
        .tx = tx->id,
        .order = tx->order,
        .address = write->block->block,
        .data = write->version,
        .sid = sid,
        .count = last ? tx->logged + tx->coalesced : 0,
    };
    write->log = log_block(persistence, sid, group->write_count);
    send_block(persistence, group, write->log, tx->core, tx->core);
    group->writes[group->write_count++] = write;
    write->state = WRITE_LOGGING;
    persistence->counts.log_writes++;
    persistence->counts.log_bytes += 64;
}

void operations_log(struct persistence *persistence, struct write **writes, uint32_t count,
                    bool last)
{
    struct operation *group = NULL;

    for (uint32_t i = 0; i < count; i++) {
        bool ends = last && (i + 1 == count || writes[i + 1]->tx != writes[i]->tx);

        if (i % (LOG_GROUP - 1) == 0)
            group = new_group(persistence, writes[i]->tx);
        add_entry(persistence, group, writes[i], persistence->next_sid - 1, ends);
    }
}

static void count_done(struct persistence *persistence, struct operation *operation)
{
    operation_done(persistence, operation->tx);
}

void operations_log_count(struct persistence *persistence, struct tx *tx)
{
    struct operation *group = new_group(persistence, tx);

    group->done = count_done;
    group->tx = tx;
    tx->pending++;
    group->records[group->record_count++] = (struct record){
        .kind = RECORD_ENTRY,
        .tx = tx->id,
        .order = tx->order,
        .address = RECORD_NO_ADDRESS,
        .sid = persistence->next_sid - 1,
        .count = tx->logged + tx->coalesced,
    };
}

struct operation *operations_record(struct persistence *persistence, struct tx *tx,
                                    const struct record *records, uint32_t count,
                                    void (*done)(struct persistence *, struct operation *))
{
    struct operation *operation = new_operation(persistence);

    operation->done = done;
    operation->tx = tx;
    memcpy(operation->records, records, count * sizeof *records);
    operation->record_count = count;
    for (uint32_t i = 0; i < count && records[0].kind != RECORD_HEAD; i++)
        operation->records[i].sid = persistence->next_sid;
    send_block(persistence, operation, log_block(persistence, persistence->next_sid++, 0),
               tx != NULL ? tx->core : persistence->machine->core.count, tx != NULL ? tx->core : 0);
    persistence->counts.log_bytes += 64;
    return operation;
}

void operations_bank(struct persistence *persistence, struct tx *tx, struct write *write,
                     const struct record *record,
                     void (*done)(struct persistence *, struct operation *))
{
    struct fabric *fabric = persistence->fabric;
    struct operation *operation = new_operation(persistence);
    uint64_t block = write != NULL ? write->block->block : 0;
    struct message *message = fabric_message(fabric, MESSAGE_PERSIST, tx->core,
                                             fabric_home_agent(fabric, block), block, tx->core);

    operation->done = done;
    operation->tx = tx;
    operation->flushed = *record;
    if (write != NULL)
        operation->writes[operation->write_count++] = write;
    else
        operation->records[operation->record_count++] = *record;
    message->data = true;
    message->version = operation->number;
    operation->pending++;
    fabric_send(fabric, message, fabric->queue.now);
}

struct operation *operations_block(struct persistence *persistence, uint64_t block,
                                   uint64_t version, unsigned agent, unsigned core,
                                   void (*done)(struct persistence *, struct operation *))
{
    struct operation *operation = new_operation(persistence);

    operation->done = done;
    operation->records[operation->record_count++] =
        (struct record){.kind = RECORD_HOME, .address = block, .data = version};
    send_block(persistence, operation, block, agent, core);
    return operation;
}

void operations_ignore(struct persistence *persistence, struct operation *operation)
{
    (void)persistence;
    (void)operation;
}

void operations_at_home(struct write *write)
{
    struct tx *tx = write->tx;

    if (write->home)
        return;
    write->home = true;
    tx->home_left--;
}

static void home_done(struct persistence *persistence, struct operation *operation)
{
    struct write *write = operation->writes[0];
    struct block_state *block = write->block;
    struct write *next = block->home_next;

    block->home_busy = false;
    block->home_next = NULL;
    operations_at_home(write);
    if (next != NULL)
        operations_home(persistence, next, next->tx->core);
    if (persistence->protocol->homed != NULL)
        persistence->protocol->homed(persistence, write);
    else
        operations_truncate(persistence);
}

static void write_home(struct persistence *persistence, struct write *write, unsigned agent)
{
    struct operation *operation = operations_block(persistence, write->block->block, write->version,
                                                   agent, write->tx->core, home_done);

    operation->writes[operation->write_count++] = write;
    if (persistence->protocol->home_flushes &&
        persistence->machine->persistence.flush == MACHINE_FLUSH_PAPER)
        banks_flush(persistence, write);
}

/* The version that only the log had is here. */
static void log_read(struct persistence *persistence, struct operation *operation)
{
    write_home(persistence, operation->writes[0], operation->writes[0]->tx->core);
}

void operations_home(struct persistence *persistence, struct write *write, unsigned agent)
{
    struct block_state *block = write->block;

    write->to_home = true;
    if (block->home_busy) {
        struct write *before = block->home_next;

        block->home_next = write;
        if (before != NULL)
            operations_at_home(before);
        if (before != NULL && persistence->protocol->homed != NULL)
            persistence->protocol->homed(persistence, before);
        return;
    }
    block->home_busy = true;
    persistence->counts.home_writes++;
    if (write->log != 0 && !banks_has(write)) {
        struct operation *operation = new_operation(persistence);

        operation->done = log_read;
        operation->writes[operation->write_count++] = write;
        ask_memory(persistence, operation, MESSAGE_LOG_READ, write->log, write->tx->core,
                   write->tx->core);
    } else {
        write_home(persistence, write, agent);
    }
}

/* Nothing of the transaction is left to do. */
static bool is_done(const struct tx *tx)
{
    return tx->state == TX_DURABLE && tx->pending == 0 && tx->home_left == 0;
}

/* Transactions that the head has passed. */
static void free_passed(struct persistence *persistence)
{
    struct tx *tx;

    while ((tx = persistence->first) != NULL && tx->order < persistence->head_order &&
           is_done(tx)) {
        persistence->first = tx->next;
        if (persistence->first == NULL)
            persistence->last_next = &persistence->first;
        persistence_forget(persistence, tx);
    }
}

static void head_done(struct persistence *persistence, struct operation *operation)
{
    (void)operation;
    free_passed(persistence);
    persistence->head_busy = false;
    operations_truncate(persistence);
    persistence_resume(persistence);
}

/* The head may pass it. */
static bool is_over(const struct persistence *persistence, const struct tx *tx)
{
    if (PERSISTENCE_MUTANT(persistence, TRUNCATE_EARLY) && tx->state == TX_DURABLE)
        return true;
    if (PERSISTENCE_MUTANT(persistence, TRUNCATE_ORDER) && tx->next != NULL && is_done(tx->next))
        return true;
    return is_done(tx);
}

/* The first block group that recovery may need, if the log begins with this transaction. */
static uint64_t first_needed(const struct persistence *persistence, const struct tx *first)
{
    uint64_t sid = persistence->next_sid;

    for (const struct tx *tx = first; tx != NULL; tx = tx->next)
        if (tx->first_sid < sid)
            sid = tx->first_sid;
    for (uint32_t i = 0; i < persistence->thread_count; i++) {
        const struct tx *tx = persistence->threads[i].tx;

        if (tx != NULL && tx->first_sid < sid)
            sid = tx->first_sid;
    }
    return sid;
}

void operations_truncate(struct persistence *persistence)
{
    struct tx *first = persistence->first;
    struct record head = {.kind = RECORD_HEAD};

    if (persistence->head_busy)
        return;
    while (first != NULL && is_over(persistence, first))
        first = first->next;
    if (first == persistence->first)
        return;
    head.order = first != NULL ? first->order : persistence->commits + 1;
    if (head.order == persistence->head_order) { /* with a rule taken out */
        free_passed(persistence);
        return;
    }
    persistence->head_order = head.order;
    head.sid = first_needed(persistence, first);
    persistence->head_busy = true;
    operations_record(persistence, NULL, &head, 1, head_done);
}
