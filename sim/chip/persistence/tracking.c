/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions as the cores see them; see persistence.h. The paper's Tx Tracking Component.
 */
#include "chip/persistence/persistence.h"

#include "chip/engine/allocation.h"
#include "chip/persistence/banks.h"
#include "chip/persistence/operations.h"
#include "chip/persistence/protocol.h"
#include "chip/persistence/software.h"

#include <string.h>

static const struct persistence_protocol *const protocols[] = {
    [MACHINE_NO_PERSISTENCE] = NULL,         [MACHINE_S_WAL] = &software_protocol,
    [MACHINE_H_WAL] = &wal_protocol,         [MACHINE_EC_WAL] = &loc_protocol,
    [MACHINE_LOC_WAL] = &loc_protocol,       [MACHINE_KILN] = &kiln_protocol,
    [MACHINE_LOC_KILN] = &loc_kiln_protocol,
};

struct persistence *persistence_new(struct fabric *fabric, uint32_t threads,
                                    void (*resume)(void *owner, uint32_t thread), void *owner)
{
    struct persistence *persistence = calloc(1, sizeof *persistence);

    if (persistence == NULL)
        return NULL;
    persistence->threads = calloc(threads, sizeof *persistence->threads);
    if (persistence->threads == NULL) {
        persistence_free(persistence);
        return NULL;
    }
    persistence->fabric = fabric;
    persistence->machine = fabric->machine;
    persistence->thread_count = threads;
    persistence->protocol = protocols[fabric->machine->persistence.protocol];
    banks_init(persistence);
    persistence->hooks.persisted = operations_persisted;
    persistence->resume = resume;
    persistence->owner = owner;
    persistence->last_next = &persistence->first;
    persistence->operation_free = UINT32_MAX;
    fabric->persist = &persistence->hooks;
    if (persistence->protocol != NULL && persistence->protocol->init != NULL &&
        !persistence->protocol->init(persistence)) {
        persistence_free(persistence);
        return NULL;
    }
    return persistence;
}

static void free_writes(struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++)
        free(tx->writes[i]);
    free(tx->writes);
    free(tx);
}

void persistence_free(struct persistence *persistence)
{
    if (persistence == NULL)
        return;
    while (persistence->first != NULL) {
        struct tx *next = persistence->first->next;

        free_writes(persistence->first);
        persistence->first = next;
    }
    for (uint32_t i = 0; persistence->threads != NULL && i < persistence->thread_count; i++)
        if (persistence->threads[i].tx != NULL && persistence->threads[i].tx->order == 0)
            free_writes(persistence->threads[i].tx);
    for (size_t i = 0; persistence->blocks.used > 0 && i <= persistence->blocks.mask; i++)
        if (persistence->blocks.entries[i].block != UINT64_MAX)
            free((void *)(uintptr_t)persistence->blocks.entries[i].value);
    block_map_destroy(&persistence->blocks);
    for (uint32_t i = 0; i < persistence->operation_count; i++)
        free(persistence->operations[i]);
    free(persistence->operations);
    software_free(persistence);
    free(persistence->threads);
    regions_destroy(&persistence->regions);
    free(persistence->window.tx);
    free(persistence->pairs);
    free(persistence->slots);
    free(persistence->free_slots);
    history_free(persistence->history);
    if (persistence->timeline != NULL)
        free(persistence->timeline->records);
    free(persistence->timeline);
    free(persistence);
}

void persistence_record(struct persistence *persistence)
{
    persistence->history = history_new(persistence->thread_count);
    persistence->timeline = allocation_checked(calloc(1, sizeof *persistence->timeline));
}

void persistence_region(struct persistence *persistence, uint64_t first, uint64_t last)
{
    regions_add(&persistence->regions, first, last);
}

bool persistence_is_none(const struct persistence *persistence)
{
    return persistence->protocol == NULL;
}

bool persistence_has_committed(const struct persistence *persistence)
{
    return persistence->commits > 0;
}

static bool is_persistent(const struct persistence *persistence, uint64_t block)
{
    return persistence->regions.count == 0 || regions_have(&persistence->regions, block);
}

/* The state of a block. NULL: it is not persistent, as far as is known. */
static struct block_state *state_of(struct persistence *persistence, uint64_t number, bool stored)
{
    struct block_state *block = banks_find(persistence, number);

    if (block != NULL || !stored || !is_persistent(persistence, number))
        return block;
    block = allocation_checked(calloc(1, sizeof *block));
    block->block = number;
    if (persistence->history != NULL)
        block->index = history_block(persistence->history, number);
    *block_map_add(&persistence->blocks, number) = (uint64_t)(uintptr_t)block;
    return block;
}

static bool waits(struct thread_state *thread)
{
    thread->waits = true;
    return false;
}

void persistence_resume(struct persistence *persistence)
{
    for (uint32_t i = 0; i < persistence->thread_count; i++) {
        if (!persistence->threads[i].waits)
            continue;
        persistence->threads[i].waits = false;
        persistence->threads[i].overlaps = false;
        persistence->resume(persistence->owner, i);
    }
}

bool persistence_begin(struct persistence *persistence, uint32_t number, unsigned core)
{
    struct thread_state *thread = &persistence->threads[number];
    struct tx *tx;

    if (thread->in_tx || persistence->protocol == NULL) {
        thread->in_tx = true;
        return true;
    }
    if (!persistence->protocol->begin(persistence))
        return waits(thread);
    tx = allocation_checked(calloc(1, sizeof *tx));
    tx->thread = number;
    tx->core = (uint16_t)core;
    tx->id = (uint64_t)core << 48 | (uint64_t)number << 32 | ++thread->begun;
    tx->first_sid = UINT64_MAX;
    tx->open = true;
    if (persistence->history != NULL)
        tx->past = history_begin(persistence->history, number);
    thread->tx = tx;
    thread->in_tx = true;
    persistence->live++;
    return true;
}

void persistence_issue(struct persistence *persistence, struct tx *tx, uint64_t time)
{
    tx->order = ++persistence->commits;
    tx->state = TX_LOGGING;
    tx->home_left = 0;
    for (uint32_t i = 0; i < tx->write_count; i++)
        tx->home_left += !tx->writes[i]->home;
    tx->next = NULL;
    *persistence->last_next = tx;
    persistence->last_next = &tx->next;
    if (tx->past == NULL)
        return;
    for (uint32_t i = 0; i < tx->write_count; i++)
        history_write(persistence->history, tx->past, tx->writes[i]->block->index,
                      tx->writes[i]->version);
    history_commit(persistence->history, tx->past, time);
}

void persistence_remove(struct persistence *persistence, struct tx *tx)
{
    struct tx **link = &persistence->first;

    while (*link != tx)
        link = &(*link)->next;
    *link = tx->next;
    if (*link == NULL)
        persistence->last_next = link;
}

void persistence_close(struct persistence *persistence, struct tx *tx)
{
    struct thread_state *thread = &persistence->threads[tx->thread];

    tx->open = false;
    thread->tx = NULL;
    thread->committed = true;
    persistence_resume(persistence);
}

void persistence_acknowledge(struct persistence *persistence, struct tx *tx)
{
    tx->state = TX_DURABLE;
    if (tx->past != NULL)
        tx->past->acknowledged = persistence->fabric->queue.now;
}

void persistence_unlink(struct persistence *persistence, struct tx *tx)
{
    for (uint32_t i = 0; i < tx->write_count; i++) {
        struct write *write = tx->writes[i];

        banks_release(persistence, write);
        if (write->newer != NULL)
            write->newer->older = write->older;
        else
            write->block->newest = write->older;
        if (write->older != NULL)
            write->older->newer = write->newer;
    }
}

void persistence_forget(struct persistence *persistence, struct tx *tx)
{
    if (tx->state != TX_ABORTED)
        persistence_unlink(persistence, tx);
    if (persistence->threads[tx->thread].last == tx)
        persistence->threads[tx->thread].last = NULL;
    persistence->live--;
    free_writes(tx);
}

bool persistence_commit(struct persistence *persistence, uint32_t number, uint64_t time)
{
    struct thread_state *thread = &persistence->threads[number];
    struct tx *tx = thread->tx;

    if (!thread->in_tx)
        return true;
    if (tx != NULL && tx->write_count == 0) {
        if (tx->past != NULL)
            history_commit(persistence->history, tx->past, time);
        persistence_close(persistence, tx);
        persistence_forget(persistence, tx);
    } else if (tx != NULL) {
        persistence->protocol->commit(persistence, tx, time);
    }
    if (!thread->committed && persistence->protocol != NULL)
        return waits(thread);
    thread->committed = false;
    thread->in_tx = false;
    persistence->counts.transactions++;
    return true;
}

bool persistence_abort(struct persistence *persistence, uint32_t number)
{
    struct thread_state *thread = &persistence->threads[number];
    struct tx *tx = thread->tx;

    thread->in_tx = false;
    if (tx == NULL)
        return true;
    persistence->protocol->abort(persistence, tx);
    persistence_unlink(persistence, tx);
    tx->state = TX_ABORTED;
    persistence_close(persistence, tx);
    thread->committed = false;
    if (tx->pending == 0)
        persistence_forget(persistence, tx);
    return true;
}

static void store(struct persistence *persistence, struct tx *tx, struct block_state *block)
{
    struct write *write = block->newest;

    if (write == NULL || write->tx != tx) {
        write = allocation_checked(calloc(1, sizeof *write));
        *write = (struct write){.tx = tx, .block = block, .older = block->newest};
        if (write->older != NULL)
            write->older->newer = write;
        block->newest = write;
        if (tx->write_count == tx->write_room) {
            tx->write_room = tx->write_room == 0 ? 8 : 2 * tx->write_room;
            tx->writes =
                allocation_checked(realloc(tx->writes, tx->write_room * sizeof(struct write *)));
        }
        tx->writes[tx->write_count++] = write;
        if (persistence->protocol->stored != NULL)
            persistence->protocol->stored(persistence, write);
    }
    write->version = ++persistence->versions;
    write->state = WRITE_CACHED;
    write->evicted = false;
    write->home = false; /* the version before may not have needed to go there */
}

bool persistence_access(struct persistence *persistence, uint32_t number, uint64_t *at, bool write)
{
    struct thread_state *thread = &persistence->threads[number];
    struct block_state *block = state_of(persistence, *at, write && thread->in_tx);
    struct tx *tx = thread->tx;

    if (block == NULL)
        return true;
    if (persistence->protocol == NULL) {
        block->dirty |= write;
        return true;
    }
    if (block->newest != NULL && block->newest->tx->open && block->newest->tx->thread != number) {
        thread->overlaps = !thread->let_in;
        if (!thread->let_in)
            return waits(thread);
        thread->let_in = false;
        persistence->overlaps++;
    }
    if (tx != NULL && tx->past != NULL)
        history_access(persistence->history, tx->past, block->index);
    if (write && tx != NULL)
        store(persistence, tx, block);
    else if (write && persistence->history != NULL)
        history_outside(persistence->history, block->index);
    if (persistence->protocol->redirect != NULL && tx != NULL && block->newest != NULL &&
        block->newest->tx == tx)
        *at = persistence->protocol->redirect(persistence, block->newest, write);
    return true;
}

bool persistence_let_one_in(struct persistence *persistence)
{
    for (uint32_t i = 0; i < persistence->thread_count; i++) {
        struct thread_state *thread = &persistence->threads[i];

        if (!thread->waits || !thread->overlaps)
            continue;
        thread->waits = false;
        thread->overlaps = false;
        thread->let_in = true;
        persistence->resume(persistence->owner, i);
        return true;
    }
    return false;
}

bool persistence_flush(struct persistence *persistence, uint32_t number)
{
    struct thread_state *thread = &persistence->threads[number];

    if (persistence->protocol == NULL || persistence->protocol->flush == NULL || thread->in_tx ||
        persistence->protocol->flush(persistence, number))
        return true;
    return waits(thread);
}

/* What is dirty in the caches of a machine without a protocol is home in the end, too. */
static void drain_caches(struct persistence *persistence)
{
    for (size_t i = 0; persistence->blocks.used > 0 && i <= persistence->blocks.mask; i++) {
        struct block_state *block =
            (struct block_state *)(uintptr_t)persistence->blocks.entries[i].value;

        if (persistence->blocks.entries[i].block == UINT64_MAX)
            continue;
        persistence->counts.home_writes += block->dirty;
        block->dirty = false;
    }
}

bool persistence_drain(struct persistence *persistence)
{
    if (persistence->protocol == NULL)
        drain_caches(persistence);
    return persistence->protocol != NULL && persistence->protocol->drain != NULL &&
           persistence->protocol->drain(persistence);
}

void persistence_restart(struct persistence *persistence)
{
    persistence->counts = (struct persistence_counts){0};
}

void persistence_stop(struct persistence *persistence)
{
    persistence->region = persistence->counts;
    persistence->stopped = true;
}

const struct persistence_counts *persistence_counts(const struct persistence *persistence)
{
    return persistence->stopped ? &persistence->region : &persistence->counts;
}

uint64_t persistence_overlaps(const struct persistence *persistence)
{
    return persistence->overlaps;
}
