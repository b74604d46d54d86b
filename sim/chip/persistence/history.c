/*
 * SPDX-License-Identifier: MIT
 *
 * What the program did; see history.h.
 */
#include "chip/persistence/history.h"

#include "chip/engine/allocation.h"

#include <string.h>

struct history *history_new(uint32_t threads)
{
    struct history *history = allocation_checked(calloc(1, sizeof *history));

    history->threads = threads;
    history->last = allocation_checked(calloc(threads, sizeof *history->last));
    return history;
}

void history_free(struct history *history)
{
    if (history == NULL)
        return;
    for (size_t i = 0; i < history->tx_count; i++)
        free(history->txs[i]);
    for (size_t i = 0; i < history->block_count; i++)
        free(history->blocks[i].writes);
    free(history->txs);
    free(history->blocks);
    free(history->last);
    free(history);
}

uint32_t history_block(struct history *history, uint64_t block)
{
    if (history->block_count == history->block_room) {
        history->block_room = history->block_room == 0 ? 64 : 2 * history->block_room;
        history->blocks = allocation_checked(
            realloc(history->blocks, history->block_room * sizeof *history->blocks));
    }
    history->blocks[history->block_count] = (struct history_block){.block = block};
    return (uint32_t)history->block_count++;
}

struct history_tx *history_begin(struct history *history, uint32_t thread)
{
    struct history_tx *tx =
        allocation_checked(calloc(1, sizeof *tx + history->threads * sizeof *tx->clock));

    if (history->tx_count == history->tx_room) {
        history->tx_room = history->tx_room == 0 ? 64 : 2 * history->tx_room;
        history->txs =
            allocation_checked(realloc(history->txs, history->tx_room * sizeof *history->txs));
    }
    history->txs[history->tx_count++] = tx;
    tx->thread = thread;
    tx->committed = UINT64_MAX;
    tx->acknowledged = UINT64_MAX;
    return tx;
}

static void depend(const struct history *history, struct history_tx *tx,
                   const struct history_tx *on)
{
    for (uint32_t i = 0; i < history->threads; i++)
        if (on->clock[i] > tx->clock[i])
            tx->clock[i] = on->clock[i];
}

void history_access(struct history *history, struct history_tx *tx, uint32_t block)
{
    const struct history_block *state = &history->blocks[block];

    if (state->count > 0)
        depend(history, tx, state->writes[state->count - 1].tx);
}

void history_outside(struct history *history, uint32_t block)
{
    history->blocks[block].outside = true;
}

void history_write(struct history *history, struct history_tx *tx, uint32_t block, uint64_t version)
{
    struct history_block *state = &history->blocks[block];

    if (state->count == state->room) {
        state->room = state->room == 0 ? 4 : 2 * state->room;
        state->writes =
            allocation_checked(realloc(state->writes, state->room * sizeof *state->writes));
    }
    state->writes[state->count++] = (struct history_write){tx, version};
}

void history_commit(struct history *history, struct history_tx *tx, uint64_t time)
{
    struct history_tx *last = history->last[tx->thread];

    if (last != NULL)
        depend(history, tx, last);
    tx->number = last == NULL ? 1 : last->number + 1;
    history->last[tx->thread] = tx;
    tx->clock[tx->thread] = tx->number;
    tx->committed = time;
}
