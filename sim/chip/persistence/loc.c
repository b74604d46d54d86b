/*
 * SPDX-License-Identifier: MIT
 *
 * loc-wal: Loose-Ordering Consistency; ec-wal is the same with windows of one transaction.
 *
 * Eager Commit: a commit writes nothing and waits for nothing. The last block of a transaction in
 * the log carries TxCnt, the number of its blocks, and recovery counts them.
 *
 * Speculative Persistence: persistence.speculation committed transactions make a window. When it is
 * full, or a TxFlush asks for it, the newest version of each block that the window's transactions
 * stored to goes to the log, in any order, and with them the dependency pairs <Tx, Ty, n>: n
 * versions of Tx are not written, as Ty has later ones. Until all that is there, no transaction
 * begins and none commits. Then all of the window are durable (LastCommittedTxID). With
 * persistence.logging = commit, the blocks go to the log when their transaction commits: nothing is
 * left to coalesce, and the end of the window waits for less.
 *
 * The order of the commits is one for all cores: CRL is one unit. Tags of committed transactions
 * carry the commit issue number, for TxID is a thread's own and says nothing about other threads.
 * A pair carries TxCnt of Tx: where all of its blocks are coalesced, the log has no tag of it.
 *
 * Versions: where a transaction stores to a block of which the caches have another transaction's
 * version that is TxDirty, that one moves to a way of the block's set in its bank, until a later
 * one has committed. The last level has them, for a block that does not fit there leaves for
 * memory, while the private levels need no more than what the program sees.
 *
 * The caches keep what is written to the log (section IV.B): it is no longer TxDirty, but still
 * dirty. With persistence.flush = evict it leaves them.
 *
 * Home writes: a bank evicts a modified block of a durable transaction; or CRL checkpoints the
 * oldest transactions, for the Tx state table or the log has little room. A version that only the
 * log has is read from there first. With persistence.order = home all of a window goes home when it
 * is durable, and the next window's first commit waits for that.
 */
#include "chip/engine/allocation.h"
#include "chip/persistence/banks.h"
#include "chip/persistence/operations.h"
#include "chip/persistence/window.h"

static uint32_t degree(const struct persistence *persistence)
{
    const struct machine *machine = persistence->machine;

    return machine->persistence.protocol == MACHINE_EC_WAL ? 1 : machine->persistence.speculation;
}

/* Durable versions that are not home go there, of this many of the oldest transactions. */
static void checkpoint(struct persistence *persistence, uint32_t transactions)
{
    for (struct tx *tx = persistence->first;
         tx != NULL && transactions > 0 && tx->state == TX_DURABLE; tx = tx->next, transactions--)
        for (uint32_t i = 0; i < tx->write_count; i++)
            if (!tx->writes[i]->home && !tx->writes[i]->to_home)
                operations_home(persistence, tx->writes[i], tx->core);
}

/* Keeps room for a window and a transaction a core in the table, and for as much again in the log.
 * A log that is too small all the same grows. */
static void keep_room(struct persistence *persistence)
{
    uint32_t cores = persistence->machine->core.count, durable = 0, most;
    uint64_t groups = persistence->machine->persistence.log / 64 / LOG_GROUP;
    uint64_t first = UINT64_MAX;

    for (const struct tx *tx = persistence->first; tx != NULL && tx->state == TX_DURABLE;
         tx = tx->next) {
        durable++;
        if (tx->first_sid < first)
            first = tx->first_sid;
    }
    most = TX_TABLE - degree(persistence);
    most = most > cores ? most - cores : 0;
    if (first < persistence->next_sid && persistence->next_sid - first > groups / 2)
        checkpoint(persistence, durable);
    else if (durable > most)
        checkpoint(persistence, durable - most);
}

/* A later version is durable: this one needs not go home. */
static void supersede(struct write *write)
{
    if (!write->to_home)
        operations_at_home(write);
}

static void complete(struct persistence *persistence)
{
    uint32_t count = persistence->window.count;

    for (uint32_t i = 0; i < count; i++)
        persistence_acknowledge(persistence, persistence->window.tx[i]);
    for (uint32_t i = 0; i < count; i++) {
        const struct tx *tx = persistence->window.tx[i];

        for (uint32_t j = 0; j < tx->write_count; j++) {
            struct write *write = tx->writes[j];

            if (write->state == WRITE_COALESCED)
                supersede(write);
            for (struct write *older = write->older; older != NULL; older = older->older)
                supersede(older);
        }
    }
    persistence->window.count = 0;
    persistence->window.closing = false;
    if (persistence->machine->persistence.order == MACHINE_ORDER_HOME)
        checkpoint(persistence, UINT32_MAX);
    keep_room(persistence);
    operations_truncate(persistence);
    persistence_resume(persistence);
}

static void complete_if_logged(struct persistence *persistence)
{
    if (!persistence->window.closing || persistence->window.pending > 0)
        return;
    for (uint32_t i = 0; i < persistence->window.count; i++)
        if (persistence->window.tx[i]->pending > 0)
            return;
    complete(persistence);
}

static void logged(struct persistence *persistence, struct tx *tx)
{
    (void)tx;
    complete_if_logged(persistence);
}

static void pairs_done(struct persistence *persistence, struct operation *operation)
{
    (void)operation;
    persistence->window.pending--;
    complete_if_logged(persistence);
}

static bool has_pair(const struct persistence *persistence, const struct tx *tx)
{
    for (size_t i = 0; i < persistence->pair_count; i++)
        if (persistence->pairs[i].tx == tx->id)
            return true;
    return false;
}

static void write_pairs(struct persistence *persistence)
{
    for (size_t i = 0; i < persistence->pair_count; i++)
        for (uint32_t j = 0; j < persistence->window.count; j++)
            if (persistence->window.tx[j]->id == persistence->pairs[i].tx)
                persistence->pairs[i].total =
                    persistence->window.tx[j]->logged + persistence->window.tx[j]->coalesced;
    for (size_t i = 0; i < persistence->pair_count; i += LOG_PAIRS) {
        size_t rest = persistence->pair_count - i;

        if (PERSISTENCE_MUTANT(persistence, PAIRS))
            break;
        persistence->window.pending++;
        operations_record(persistence, NULL, &persistence->pairs[i],
                          rest < LOG_PAIRS ? (uint32_t)rest : LOG_PAIRS, pairs_done);
    }
    persistence->pair_count = 0;
}

/* What the transactions have in the caches goes to the log, the last block of each with TxCnt. */
static void write_log(struct persistence *persistence, struct tx **txs, uint32_t tx_count)
{
    struct write **cached = NULL;
    uint32_t count = 0, room = 0;

    for (uint32_t i = 0; i < tx_count; i++)
        room += txs[i]->write_count;
    cached = allocation_checked(malloc(room * sizeof(struct write *)));
    for (uint32_t i = 0; i < tx_count; i++) {
        struct tx *tx = txs[i];
        uint32_t before = count;

        for (uint32_t j = 0; j < tx->write_count; j++)
            if (tx->writes[j]->state == WRITE_CACHED) {
                banks_release(persistence, tx->writes[j]);
                cached[count++] = tx->writes[j];
            }
        if (count == before && !has_pair(persistence, tx))
            operations_log_count(persistence, tx);
    }
    operations_log(persistence, cached, count, true);
    for (uint32_t i = 0; i < count; i++)
        if (persistence->machine->persistence.flush == MACHINE_FLUSH_EVICT)
            banks_flush(persistence, cached[i]);
    free(cached);
}

static bool logs_at_commit(const struct persistence *persistence)
{
    return persistence->machine->persistence.logging == MACHINE_LOGGING_COMMIT;
}

/* The window is full: it is persisted. */
static void close_window(struct persistence *persistence)
{
    persistence->window.closing = true;
    if (!logs_at_commit(persistence))
        write_log(persistence, persistence->window.tx, persistence->window.count);
    write_pairs(persistence);
    complete_if_logged(persistence);
}

static void stored(struct persistence *persistence, struct write *write)
{
    struct write *older = write->older;

    if (older == NULL || older->state != WRITE_CACHED)
        return;
    if (PERSISTENCE_MUTANT(persistence, VERSIONS))
        return;
    banks_place(persistence, older);
}

/* Ty has a later version: the older one of Tx will not be written. */
static void coalesce(struct persistence *persistence, struct write *older, const struct tx *ty)
{
    struct tx *tx = older->tx;

    banks_release(persistence, older);
    older->state = WRITE_COALESCED;
    tx->coalesced++;
    persistence->counts.coalesced_writes++;
    for (size_t i = 0; i < persistence->pair_count; i++)
        if (persistence->pairs[i].tx == tx->id && persistence->pairs[i].other == ty->id) {
            persistence->pairs[i].count++;
            return;
        }
    if (persistence->pair_count == persistence->pair_room) {
        persistence->pair_room = persistence->pair_room == 0 ? 64 : 2 * persistence->pair_room;
        persistence->pairs = allocation_checked(
            realloc(persistence->pairs, persistence->pair_room * sizeof *persistence->pairs));
    }
    persistence->pairs[persistence->pair_count++] = (struct record){
        .kind = RECORD_PAIR, .tx = tx->id, .order = tx->order, .other = ty->id, .count = 1};
}

static void commit(struct persistence *persistence, struct tx *tx, uint64_t time)
{
    bool waits_for_home = persistence->machine->persistence.order == MACHINE_ORDER_HOME &&
                          persistence->window.count == 0 && persistence->first != NULL;

    if (persistence->window.closing || waits_for_home)
        return;
    persistence_issue(persistence, tx, time);
    for (uint32_t i = 0; i < tx->write_count; i++) {
        struct write *older = tx->writes[i]->older;

        if (older != NULL && older->state == WRITE_CACHED)
            coalesce(persistence, older, tx);
    }
    if (logs_at_commit(persistence))
        write_log(persistence, &tx, 1);
    window_add(persistence, tx, degree(persistence));
}

/* The versions before the aborted ones are written now, as nothing will overwrite them. */
static void abort_tx(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++) {
        struct write *older = tx->writes[i]->older;

        if (older == NULL || older->state != WRITE_CACHED)
            continue;
        banks_release(persistence, older);
        if (PERSISTENCE_MUTANT(persistence, RESCUE) || PERSISTENCE_MUTANT(persistence, VERSIONS)) {
            older->state = WRITE_LOGGED;
            older->tx->logged++;
        } else {
            operations_log(persistence, &older, 1, false);
        }
    }
}

static void evicted(struct persistence *persistence, struct write *write, unsigned agent)
{
    bool durable = write->tx->state == TX_DURABLE || PERSISTENCE_MUTANT(persistence, DURABLE);

    if (write->state == WRITE_CACHED && PERSISTENCE_MUTANT(persistence, TX_DIRTY)) {
        operations_block(persistence, write->block->block, write->version, agent, write->tx->core,
                         operations_ignore);
    } else if (write->state == WRITE_CACHED) {
        persistence->counts.forced_evictions++;
        operations_log(persistence, &write, 1, false);
    } else if (write->state == WRITE_LOGGED && durable && !write->home && !write->to_home) {
        operations_home(persistence, write, agent);
    }
}

static void displaced(struct persistence *persistence, struct write *write, unsigned agent)
{
    (void)agent;
    persistence->counts.version_overflows++;
    if (PERSISTENCE_MUTANT(persistence, OVERFLOW)) {
        write->state = WRITE_LOGGED;
        write->tx->logged++;
    } else {
        operations_log(persistence, &write, 1, false);
    }
}

const struct persistence_protocol loc_protocol = {
    .begin = window_begin,
    .stored = stored,
    .commit = commit,
    .abort = abort_tx,
    .evicted = evicted,
    .displaced = displaced,
    .logged = logged,
    .flush = window_flush,
    .drain = window_drain,
    .close_window = close_window,
    .checkpoint = checkpoint,
};
