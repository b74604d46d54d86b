/*
 * SPDX-License-Identifier: MIT
 *
 * h-wal: write-ahead logging by hardware, one copy of a block in the caches. The four phases of
 * section II.B, one after the other:
 *
 *   1  the transaction runs; a block of it that a bank evicts goes to the log
 *   2  commit: all other blocks to the log; when they are there, the commit record; when that is
 *      there the transaction is durable and acknowledged, and the thread goes on
 *   3  all its blocks home
 *   4  the log's head passes it, after all that committed before it
 *
 * The caches keep their single copy of a block, which the third phase needs, until that flushes it
 * home: then it leaves them. With persistence.flush = evict it leaves them when it is flushed to
 * the log, and the third phase reads it from there.
 *
 * The thread's next transaction follows the acknowledgement, which is what section II.B says of the
 * ordering between transactions; with persistence.order = home its commit follows the fourth phase.
 */
#include "chip/engine/allocation.h"
#include "chip/persistence/banks.h"
#include "chip/persistence/operations.h"

static bool begin(struct persistence *persistence)
{
    return persistence->live < TX_TABLE || persistence->first == NULL;
}

static void write_home(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++)
        operations_home(persistence, tx->writes[i], tx->core);
}

static void recorded(struct persistence *persistence, struct operation *operation)
{
    struct tx *tx = operation->tx;

    if (PERSISTENCE_MUTANT(persistence, RECORD_FENCE))
        return;
    persistence_acknowledge(persistence, tx);
    if (!PERSISTENCE_MUTANT(persistence, HOME_FENCE))
        write_home(persistence, tx);
    persistence_close(persistence, tx);
}

static void write_record(struct persistence *persistence, struct tx *tx)
{
    struct record record = {.kind = RECORD_COMMIT, .tx = tx->id, .order = tx->order};

    tx->state = TX_RECORD;
    operations_record(persistence, tx, &record, 1, recorded);
    if (PERSISTENCE_MUTANT(persistence, HOME_FENCE))
        write_home(persistence, tx);
    if (PERSISTENCE_MUTANT(persistence, RECORD_FENCE)) {
        persistence_acknowledge(persistence, tx);
        write_home(persistence, tx);
        persistence_close(persistence, tx);
    }
}

static void logged(struct persistence *persistence, struct tx *tx)
{
    if (tx->state == TX_LOGGING)
        write_record(persistence, tx);
    operations_truncate(persistence);
}

static void commit(struct persistence *persistence, struct tx *tx, uint64_t time)
{
    const struct machine *machine = persistence->machine;
    struct thread_state *thread = &persistence->threads[tx->thread];
    struct write **cached;
    uint32_t count = 0;

    if (tx->state != TX_ACTIVE ||
        (machine->persistence.order == MACHINE_ORDER_HOME && thread->last != NULL))
        return;
    persistence_issue(persistence, tx, time);
    thread->last = tx;
    cached = allocation_checked(malloc(tx->write_count * sizeof(struct write *)));
    for (uint32_t i = 0; i < tx->write_count; i++)
        if (tx->writes[i]->state == WRITE_CACHED)
            cached[count++] = tx->writes[i];
    operations_log(persistence, cached, count, false);
    for (uint32_t i = 0; i < count && machine->persistence.flush == MACHINE_FLUSH_EVICT; i++)
        banks_flush(persistence, cached[i]);
    free(cached);
    if (tx->pending == 0 || PERSISTENCE_MUTANT(persistence, LOG_FENCE))
        write_record(persistence, tx);
}

static void abort_tx(struct persistence *persistence, struct tx *tx)
{
    (void)persistence;
    (void)tx; /* the log has no commit record of it */
}

static void evicted(struct persistence *persistence, struct write *write, unsigned agent)
{
    if (write->state != WRITE_CACHED)
        return; /* it is in the log, or on its way */
    if (PERSISTENCE_MUTANT(persistence, TX_DIRTY)) {
        operations_block(persistence, write->block->block, write->version, agent, write->tx->core,
                         operations_ignore);
        return;
    }
    persistence->counts.forced_evictions++;
    operations_log(persistence, &write, 1, false);
}

const struct persistence_protocol wal_protocol = {
    .home_flushes = true,
    .begin = begin,
    .commit = commit,
    .abort = abort_tx,
    .evicted = evicted,
    .logged = logged,
};
