/*
 * SPDX-License-Identifier: MIT
 *
 * kiln: the last level is not volatile, and is the log. After what section II.C of the paper on LOC
 * and the public descriptions of "Kiln: Closing the Performance Gap Between Systems With and
 * Without Persistence Support" (MICRO 2013) say; what they leave open is marked (*).
 *
 *   1  A block of an open transaction that leaves the private levels is in a bank, and persistent,
 *      but not committed. The committed version before it keeps a way of its own in the set,
 *      unless it is home.
 *   2  Commit: all other blocks of the transaction are flushed from the private levels to their
 *      banks, and stay in the private levels (*; persistence.flush = evict: they leave them).
 *      When all are there, the transaction's state flips, by one write in the first bank (*): it
 *      is durable. When that is acknowledged the thread goes on.
 *   3  With the flip the versions before lose their ways.
 *   4  Blocks leave the banks by LRU. A committed one goes home, and its bank has it in a buffer
 *      that is not volatile until it is there (*). One that is not committed goes to a log in
 *      memory in the same way (*).
 *   5  A transaction with blocks in that log takes them home after the flip and then ends its part
 *      of the log, before its commit is over: no later version can go home before. Until then none
 *      of its own leaves its bank, for the log may have an older one (*).
 *   6  An abort makes the transaction's blocks in the banks invalid.
 *
 * Recovery: the blocks in banks and log of each transaction with the flipped state are its
 * versions, in the order of the commits.
 */
#include "chip/persistence/kiln.h"

#include "chip/coherence/requester.h"
#include "chip/persistence/banks.h"
#include "chip/persistence/operations.h"

/* The bank has the version no more. */
void kiln_leave_bank(struct persistence *persistence, struct write *write)
{
    struct record record = {.kind = RECORD_BANK_OUT, .sid = write->sid};

    banks_release(persistence, write);
    if (!write->banked)
        return;
    write->banked = false;
    timeline_append(persistence, &record);
}

static void enter_bank(struct persistence *persistence, struct write *write,
                       const struct record *record)
{
    kiln_leave_bank(persistence, write);
    timeline_append(persistence, record);
    write->banked = true;
    write->leaving = false; /* what goes to the log is older */
    write->sid = record->sid;
}

static struct record bank_record(struct persistence *persistence, const struct write *write)
{
    return (struct record){.kind = RECORD_BANK,
                           .tx = write->tx->id,
                           .order = write->tx->order,
                           .address = write->block->block,
                           .data = write->version,
                           .sid = persistence->next_sid++};
}

static bool begin(struct persistence *persistence)
{
    (void)persistence;
    return true;
}

/* All of it is home, and its commit is over. */
void kiln_retire_if_done(struct persistence *persistence, struct tx *tx)
{
    struct record record = {.kind = RECORD_FORGET, .tx = tx->id};
    bool full = persistence->live >= TX_TABLE;

    if (tx->open || tx->windowed || tx->state != TX_DURABLE || tx->pending > 0 || tx->home_left > 0)
        return;
    timeline_append(persistence, &record);
    persistence_remove(persistence, tx);
    persistence_forget(persistence, tx);
    if (full) /* who begins waits for an entry of the table */
        persistence_resume(persistence);
}

void kiln_leave_home(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++)
        if (tx->writes[i]->home)
            kiln_leave_bank(persistence, tx->writes[i]);
}

/* Its commit is over. Versions of it may be home: they were in the log, or another transaction,
 * which overlapped with it, superseded them. */
static void end_commit(struct persistence *persistence, struct tx *tx)
{
    kiln_leave_home(persistence, tx);
    persistence_close(persistence, tx);
    kiln_retire_if_done(persistence, tx);
}

static void log_ended(struct persistence *persistence, struct operation *operation)
{
    end_commit(persistence, operation->tx);
}

/* The log has nothing of the transaction that is not home: its part of it ends. */
static void end_log(struct persistence *persistence, struct tx *tx)
{
    struct record record = {.kind = RECORD_LOG_END, .tx = tx->id};

    for (uint32_t i = 0; i < tx->write_count; i++)
        if (tx->writes[i]->to_home && !tx->writes[i]->home)
            return;
    tx->state = TX_DURABLE;
    if (tx->windowed)
        persistence->protocol->logged(persistence, tx);
    else
        operations_record(persistence, tx, &record, 1, log_ended);
}

void kiln_home_write(struct persistence *persistence, struct write *write)
{
    if (!write->home && !write->to_home)
        operations_home(persistence, write, banks_agent(persistence, write->block->block));
    if (PERSISTENCE_MUTANT(persistence, BANK_OUT))
        kiln_leave_bank(persistence, write);
}

void kiln_homed(struct persistence *persistence, struct write *write)
{
    struct tx *tx = write->tx;

    if (!tx->windowed && !tx->open)
        kiln_leave_bank(persistence, write);
    if (tx->state == TX_CLEANING)
        end_log(persistence, tx);
    else
        kiln_retire_if_done(persistence, tx);
}

/* The versions before this one, which is durable, are not needed. */
void kiln_supersede(struct persistence *persistence, struct write *write)
{
    for (struct write *older = write->older, *next; older != NULL; older = next) {
        struct tx *tx = older->tx;

        next = older->older;
        if (older->to_home || older->home)
            continue;
        operations_at_home(older);
        kiln_leave_bank(persistence, older);
        kiln_retire_if_done(persistence, tx);
    }
}

bool kiln_clean(struct persistence *persistence, struct tx *tx)
{
    if (tx->logged > 0)
        tx->state = TX_CLEANING;
    for (uint32_t i = 0; i < tx->write_count; i++) {
        struct write *write = tx->writes[i];

        if (!write->banked || (write->place == NULL && !write->resident))
            kiln_home_write(persistence, write);
    }
    if (tx->state == TX_CLEANING)
        end_log(persistence, tx);
    return tx->logged == 0;
}

static void flipped(struct persistence *persistence, struct operation *operation)
{
    struct tx *tx = operation->tx;

    persistence_acknowledge(persistence, tx);
    for (uint32_t i = 0; i < tx->write_count; i++)
        kiln_supersede(persistence, tx->writes[i]);
    if (kiln_clean(persistence, tx))
        end_commit(persistence, tx);
}

static void flip(struct persistence *persistence, struct tx *tx)
{
    struct record record = {.kind = RECORD_COMMIT, .tx = tx->id, .order = tx->order};

    tx->state = TX_RECORD;
    operations_bank(persistence, tx, NULL, &record, flipped);
}

void kiln_logged(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++)
        if (tx->writes[i]->leaving) {
            tx->writes[i]->leaving = false;
            kiln_leave_bank(persistence, tx->writes[i]);
        }
}

static void logged(struct persistence *persistence, struct tx *tx)
{
    kiln_logged(persistence, tx);
    if (tx->state == TX_LOGGING)
        flip(persistence, tx);
    else
        kiln_retire_if_done(persistence, tx);
}

static void flushed(struct persistence *persistence, struct operation *operation)
{
    struct write *write = operation->writes[0];
    struct tx *tx = write->tx;
    struct line *place = write->place;

    write->place = NULL; /* stays as it is */
    enter_bank(persistence, write, &operation->flushed);
    write->place = place;
    write->state = WRITE_LOGGED;
    if (persistence->machine->persistence.flush == MACHINE_FLUSH_EVICT && write->newer == NULL)
        requester_flush(persistence->fabric, tx->core, write->block->block, false);
    if (--tx->pending == 0)
        persistence->protocol->logged(persistence, tx);
}

void kiln_flush(struct persistence *persistence, struct write *write)
{
    struct record record = bank_record(persistence, write);

    write->state = WRITE_LOGGING;
    write->tx->pending++;
    persistence->counts.log_writes++;
    operations_bank(persistence, write->tx, write, &record, flushed);
}

static void commit(struct persistence *persistence, struct tx *tx, uint64_t time)
{
    if (tx->state != TX_ACTIVE)
        return;
    persistence_issue(persistence, tx, time);
    for (uint32_t i = 0; i < tx->write_count; i++)
        if (tx->writes[i]->state == WRITE_CACHED)
            kiln_flush(persistence, tx->writes[i]);
    if (tx->pending == 0 || PERSISTENCE_MUTANT(persistence, FLIP))
        flip(persistence, tx);
}

static void abort_tx(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++)
        kiln_leave_bank(persistence, tx->writes[i]);
}

/* The version's bank has no way for it any more. */
static void leave(struct persistence *persistence, struct write *write)
{
    const struct tx *tx = write->tx;
    bool commits = tx->state == TX_LOGGING || tx->state == TX_RECORD;

    if (tx->windowed && tx->state == TX_LOGGING && !persistence->window.closing)
        commits = false;
    if (tx->state == TX_DURABLE || tx->state == TX_CLEANING) {
        kiln_home_write(persistence, write);
    } else if (write->state == WRITE_CACHED && write->newer == NULL) {
        kiln_leave_bank(persistence, write); /* the private levels have a newer one */
    } else if (!commits && (write->state == WRITE_LOGGED || write->state == WRITE_CACHED)) {
        write->leaving = write->banked;
        operations_log(persistence, &write, 1, false);
    }
    /* While it commits, the buffer keeps it. */
}

static struct write *resident_of(const struct block_state *block)
{
    struct write *write = block->newest;

    while (write != NULL && !write->resident)
        write = write->older;
    return write;
}

void kiln_evicted(struct persistence *persistence, struct write *newest, unsigned agent)
{
    struct write *write = resident_of(newest->block);

    (void)agent;
    if (write != NULL) {
        write->resident = false;
        persistence->counts.forced_evictions += write->tx->state != TX_DURABLE;
        if (write->banked)
            leave(persistence, write);
    } else if (newest->state == WRITE_CACHED && !banks_is_pending(persistence, newest)) {
        persistence->counts.forced_evictions++; /* it came for a recall, and got no way */
        operations_log(persistence, &newest, 1, false);
    }
}

void kiln_displaced(struct persistence *persistence, struct write *write, unsigned agent)
{
    (void)agent;
    persistence->counts.version_overflows += write->tx->state != TX_DURABLE;
    leave(persistence, write);
}

void kiln_arrived(struct persistence *persistence, struct block_state *block)
{
    struct write *write = block->newest;

    if (write != NULL && banks_is_pending(persistence, write) && !write->banked)
        write = write->older;
    if (write == NULL)
        return;
    banks_release(persistence, write);
    for (struct write *older = write->older; older != NULL; older = older->older)
        older->resident = false;
    write->resident = true;
    if (write->state == WRITE_CACHED) {
        struct record record = bank_record(persistence, write);

        enter_bank(persistence, write, &record);
        write->state = WRITE_LOGGED;
        persistence->counts.log_writes++;
    }
}

struct write *kiln_departed(struct persistence *persistence, struct block_state *block)
{
    struct write *write = resident_of(block);

    (void)persistence;
    if (write == NULL)
        return NULL;
    write->resident = false;
    return write->banked && !write->home ? write : NULL;
}

static bool drain(struct persistence *persistence)
{
    for (struct tx *tx = persistence->first; tx != NULL; tx = tx->next)
        for (uint32_t i = 0; i < tx->write_count; i++)
            kiln_home_write(persistence, tx->writes[i]);
    return persistence->first != NULL;
}

const struct persistence_protocol kiln_protocol = {
    .begin = begin,
    .commit = commit,
    .abort = abort_tx,
    .evicted = kiln_evicted,
    .displaced = kiln_displaced,
    .arrived = kiln_arrived,
    .departed = kiln_departed,
    .homed = kiln_homed,
    .logged = logged,
    .drain = drain,
};
