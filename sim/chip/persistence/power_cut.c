/*
 * SPDX-License-Identifier: MIT
 *
 * Power cuts; see power_cut.h.
 *
 * The check: what a block has after the recovery is the version of a transaction, so that one must
 * be in the state, and all in its clock (history.h); and all that were acknowledged, and theirs.
 * The least state that has all these is a number of transactions for each thread. A larger one
 * cannot be right where this is not: it would have later versions only. So each block must have the
 * last version of this state.
 */
#include "chip/persistence/power_cut.h"

#include "chip/engine/allocation.h"
#include "chip/persistence/protocol.h"
#include "chip/persistence/recovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct check_state {
    const struct history *history;
    uint32_t *clock; /* of the least state that can be */
    size_t *places;  /* of each block in the image */
};

static void join(const struct check_state *state, const struct history_tx *tx)
{
    for (uint32_t i = 0; i < state->history->threads; i++)
        if (tx->clock[i] > state->clock[i])
            state->clock[i] = tx->clock[i];
}

/* The transaction of a version. NULL: none that had committed by then has it. */
static const struct history_tx *writer(const struct history_block *block, uint64_t version,
                                       uint64_t time)
{
    for (uint32_t i = block->count; i > 0; i--)
        if (block->writes[i - 1].version == version)
            return block->writes[i - 1].tx->committed <= time ? block->writes[i - 1].tx : NULL;
    return NULL;
}

/* The block's version in the state. */
static uint64_t last_version(const struct check_state *state, const struct history_block *block)
{
    for (uint32_t i = block->count; i > 0; i--) {
        const struct history_tx *tx = block->writes[i - 1].tx;

        if (tx->number <= state->clock[tx->thread])
            return block->writes[i - 1].version;
    }
    return 0;
}

/* What is wrong with the state that recovery left, as one line in `finding`. True: nothing. */
static bool check(const struct check_state *state, const uint64_t *contents, uint64_t time,
                  char *finding, size_t length)
{
    const struct history *history = state->history;

    memset(state->clock, 0, history->threads * sizeof *state->clock);
    for (size_t i = 0; i < history->tx_count; i++)
        if (history->txs[i]->acknowledged <= time)
            join(state, history->txs[i]);
    for (size_t i = 0; i < history->block_count; i++) {
        const struct history_block *block = &history->blocks[i];
        uint64_t version = contents[state->places[i]];
        const struct history_tx *tx = writer(block, version, time);

        if (block->outside || version == 0)
            continue;
        if (tx == NULL) {
            snprintf(finding, length,
                     "cycle %" PRIu64 ": block %#" PRIx64 " has version %" PRIu64
                     ", of no transaction that had committed",
                     time, block->block, version);
            return false;
        }
        join(state, tx);
    }
    for (size_t i = 0; i < history->block_count; i++) {
        const struct history_block *block = &history->blocks[i];
        uint64_t version = contents[state->places[i]], last = last_version(state, block);

        if (block->outside || version == last)
            continue;
        snprintf(finding, length,
                 "cycle %" PRIu64 ": block %#" PRIx64 " has version %" PRIu64
                 ", and the transactions before what is there leave %" PRIu64,
                 time, block->block, version, last);
        return false;
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;

    return *first < *second ? -1 : *first > *second;
}

/* The cycles of the cuts, in order. */
static uint64_t *draw(uint64_t count, uint64_t end, uint64_t seed)
{
    uint64_t *times = allocation_checked(malloc((count + 1) * sizeof *times));
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;

    for (uint64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        times[i] = (state ^ state >> 31) % (end + 1);
    }
    qsort(times, count, sizeof *times, by_value);
    return times;
}

void power_cuts_run(const struct persistence *persistence, uint64_t count, uint64_t seed,
                    struct power_cuts *result)
{
    const struct timeline *timeline = persistence->timeline;
    const struct history *history = persistence->history;
    uint64_t end = timeline->count == 0 ? 0 : timeline->records[timeline->count - 1].time;
    uint64_t *times = draw(count, end, seed), *contents = NULL;
    struct check_state state = {.history = history};
    struct image image;
    size_t applied = 0;
    bool changed = true;

    image_init(&image);
    image.mutant = persistence->mutant;
    state.clock = allocation_checked(calloc(history->threads, sizeof *state.clock));
    state.places = allocation_checked(malloc((history->block_count + 1) * sizeof *state.places));
    for (size_t i = 0; i < history->block_count; i++)
        state.places[i] = image_place(&image, history->blocks[i].block);
    for (uint64_t i = 0; i < count; i++) {
        char finding[sizeof result->first];

        for (; applied < timeline->count && timeline->records[applied].time <= times[i];
             applied++, changed = true)
            image_apply(&image, &timeline->records[applied]);
        if (changed)
            recovery_run(&image, persistence->machine->persistence.protocol, &contents);
        changed = false;
        result->cuts++;
        if (check(&state, contents, times[i], finding, sizeof finding))
            continue;
        if (result->findings++ == 0)
            memcpy(result->first, finding, sizeof finding);
    }
    image_destroy(&image);
    free(state.clock);
    free(state.places);
    free(contents);
    free(times);
}
