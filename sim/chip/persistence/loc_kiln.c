/*
 * SPDX-License-Identifier: MIT
 *
 * loc-kiln: the windows of loc.c on the banks of kiln.c. "Only flushing L1 and L2 caches (as in
 * Kiln) and performing loose ordering (as in LOC)" is all that the paper says of it; the rest is
 * marked (*).
 *
 *   1  A commit writes nothing and waits for nothing, unless a window is being persisted. A version
 *      that a later transaction of the window replaces is coalesced if no bank has it yet; until
 *      that transaction commits it has a way in its bank.
 *   2  When the window is full, or a TxFlush asks for it, the newest versions that are modified in
 *      the private levels are flushed to their banks, in any order.
 *   3  When all are there, LastCommittedTxID, which is in the first bank and not volatile (*),
 *      passes the window: all of it is durable at once. No tags are counted and no pairs are
 *      needed, as recovery has that register; blocks may so leave the banks one by one.
 *   4  As kiln: blocks leave the banks by LRU. What a window left in the log in memory goes home,
 *      and then that log ends at once, before the next window begins; until then no block of the
 *      window leaves its bank, for the log may have an older version of it.
 *
 * The Tx state table is loc.c's: where it has little room, the oldest transactions are taken home.
 */
#include "chip/engine/allocation.h"
#include "chip/persistence/banks.h"
#include "chip/persistence/kiln.h"
#include "chip/persistence/operations.h"
#include "chip/persistence/window.h"

static uint32_t degree(const struct persistence *persistence)
{
    return persistence->machine->persistence.speculation;
}

/* Takes the versions of so many of the oldest durable transactions home. */
static void checkpoint(struct persistence *persistence, uint32_t transactions)
{
    for (struct tx *tx = persistence->first;
         tx != NULL && transactions > 0 && tx->state == TX_DURABLE; tx = tx->next, transactions--)
        for (uint32_t i = 0; i < tx->write_count; i++)
            kiln_home_write(persistence, tx->writes[i]);
}

static void keep_room(struct persistence *persistence)
{
    uint32_t most = TX_TABLE - degree(persistence), cores = persistence->machine->core.count;
    uint32_t durable = 0;

    most = most > cores ? most - cores : 0;
    for (const struct tx *tx = persistence->first; tx != NULL && tx->state == TX_DURABLE;
         tx = tx->next)
        durable++;
    if (durable > most)
        checkpoint(persistence, durable - most);
}

static void complete(struct persistence *persistence)
{
    uint32_t count = persistence->window.count;

    persistence->window.count = 0;
    persistence->window.closing = false;
    for (uint32_t i = 0; i < count; i++) {
        struct tx *tx = persistence->window.tx[i];

        tx->windowed = false;
        kiln_leave_home(persistence, tx);
        kiln_retire_if_done(persistence, tx);
    }
    keep_room(persistence);
    persistence_resume(persistence);
}

static void log_ended(struct persistence *persistence, struct operation *operation)
{
    (void)operation;
    for (uint32_t i = 0; i < persistence->window.count; i++) {
        struct record record = {.kind = RECORD_LOG_END, .tx = persistence->window.tx[i]->id};

        timeline_append(persistence, &record);
    }
    persistence->window.pending = 0;
    complete(persistence);
}

/* All of the window is durable. */
static void complete_if_clean(struct persistence *persistence)
{
    uint32_t logged = 0;

    if (persistence->window.pending > 0)
        return;
    for (uint32_t i = 0; i < persistence->window.count; i++) {
        if (persistence->window.tx[i]->state != TX_DURABLE)
            return;
        logged += persistence->window.tx[i]->logged;
    }
    if (logged == 0) {
        complete(persistence);
        return;
    }
    persistence->window.pending = 1;
    operations_record(persistence, NULL, &(struct record){.kind = RECORD_LOG_END}, 1, log_ended);
}

/* LastCommittedTxID has passed the window. */
static void passed(struct persistence *persistence, struct operation *operation)
{
    uint32_t count = persistence->window.count;

    (void)operation;
    for (uint32_t i = 0; i < count; i++) {
        struct tx *tx = persistence->window.tx[i];
        struct record record = {.kind = RECORD_COMMIT, .tx = tx->id, .order = tx->order};

        timeline_append(persistence, &record);
        persistence_acknowledge(persistence, tx);
        if (tx->logged > 0)
            tx->state = TX_CLEANING;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < persistence->window.tx[i]->write_count; j++)
            kiln_supersede(persistence, persistence->window.tx[i]->writes[j]);
    for (uint32_t i = 0; i < count; i++)
        kiln_clean(persistence, persistence->window.tx[i]);
    if (persistence->window.count > 0)
        complete_if_clean(persistence);
}

static void pass(struct persistence *persistence)
{
    struct tx *last = persistence->window.tx[persistence->window.count - 1];
    struct record record = {.kind = RECORD_COMMIT, .tx = last->id, .order = last->order};

    for (uint32_t i = 0; i < persistence->window.count; i++)
        persistence->window.tx[i]->state = TX_RECORD;
    operations_bank(persistence, last, NULL, &record, passed);
}

/* The window's flushes are over, or what it left in the log in memory is home. */
static void pass_if_flushed(struct persistence *persistence)
{
    if (persistence->window.tx[0]->state != TX_LOGGING) {
        complete_if_clean(persistence);
        return;
    }
    for (uint32_t i = 0; i < persistence->window.count; i++)
        if (persistence->window.tx[i]->pending > 0)
            return;
    pass(persistence);
}

static void logged(struct persistence *persistence, struct tx *tx)
{
    kiln_logged(persistence, tx);
    if (persistence->window.closing && tx->windowed)
        pass_if_flushed(persistence);
    else
        kiln_retire_if_done(persistence, tx);
}

static void close_window(struct persistence *persistence)
{
    bool waits = false;

    persistence->window.closing = true;
    for (uint32_t i = 0; i < persistence->window.count; i++) {
        struct tx *tx = persistence->window.tx[i];

        for (uint32_t j = 0; j < tx->write_count; j++)
            if (tx->writes[j]->state == WRITE_CACHED)
                kiln_flush(persistence, tx->writes[j]);
        waits = waits || tx->pending > 0;
    }
    if (!waits || PERSISTENCE_MUTANT(persistence, FLIP))
        pass(persistence);
}

static void stored(struct persistence *persistence, struct write *write)
{
    struct write *older = write->older;

    if (older != NULL && older->state == WRITE_CACHED && older->place == NULL)
        banks_place(persistence, older);
}

static void commit(struct persistence *persistence, struct tx *tx, uint64_t time)
{
    if (persistence->window.closing)
        return;
    persistence_issue(persistence, tx, time);
    for (uint32_t i = 0; i < tx->write_count; i++) {
        struct write *older = tx->writes[i]->older;

        if (older == NULL || older->state != WRITE_CACHED)
            continue;
        kiln_leave_bank(persistence, older);
        older->state = WRITE_COALESCED;
        persistence->counts.coalesced_writes++;
    }
    tx->windowed = true;
    window_add(persistence, tx, degree(persistence));
}

/* The versions before the aborted ones are flushed now, as nothing will replace them. */
static void abort_tx(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++) {
        struct write *older = tx->writes[i]->older;

        kiln_leave_bank(persistence, tx->writes[i]);
        if (older == NULL || older->state != WRITE_CACHED)
            continue;
        if (PERSISTENCE_MUTANT(persistence, RESCUE)) {
            kiln_leave_bank(persistence, older);
            older->state = WRITE_COALESCED;
        } else {
            kiln_flush(persistence, older);
        }
    }
}

const struct persistence_protocol loc_kiln_protocol = {
    .begin = window_begin,
    .stored = stored,
    .commit = commit,
    .abort = abort_tx,
    .evicted = kiln_evicted,
    .displaced = kiln_displaced,
    .arrived = kiln_arrived,
    .departed = kiln_departed,
    .homed = kiln_homed,
    .logged = logged,
    .flush = window_flush,
    .drain = window_drain,
    .close_window = close_window,
    .checkpoint = checkpoint,
};
