/*
 * SPDX-License-Identifier: MIT
 *
 * Persistent blocks in the banks of the last level; see banks.h.
 */
#include "chip/persistence/banks.h"

#include "chip/coherence/requester.h"
#include "chip/coherence/transactions.h"
#include "chip/engine/allocation.h"

struct block_state *banks_find(const struct persistence *persistence, uint64_t block)
{
    uint64_t *found =
        persistence->blocks.used == 0 ? NULL : block_map_find(&persistence->blocks, block);

    return found == NULL ? NULL : (struct block_state *)(uintptr_t)*found;
}

unsigned banks_agent(const struct persistence *persistence, uint64_t block)
{
    return fabric_home_agent(persistence->fabric, block);
}

bool banks_is_pending(const struct persistence *persistence, const struct write *write)
{
    const struct line *line =
        private_cache_find(&persistence->fabric->cores[write->tx->core].cache, write->block->block);

    return line != NULL && line->pending;
}

/* True: the hooks write what has to be written. */
static bool evicted(void *owner, unsigned agent, uint64_t number, unsigned core)
{
    struct persistence *persistence = owner;
    struct block_state *block = banks_find(persistence, number);
    bool pending;

    if (persistence->protocol != NULL && persistence->protocol->evicted_block != NULL)
        return persistence->protocol->evicted_block(persistence, number, agent, core);
    if (block == NULL)
        return false;
    if (persistence->protocol == NULL) {
        persistence->counts.home_writes += block->dirty;
        block->dirty = false;
        return false;
    }
    if (block->newest == NULL)
        return true; /* of a transaction that is over: it is home */
    /* Of h-wal and loc-wal an older version has moved, if it is needed. */
    pending = banks_is_pending(persistence, block->newest);
    if (persistence->protocol->arrived != NULL || !pending)
        persistence->protocol->evicted(persistence, block->newest, agent);
    block->newest->evicted = !pending;
    return true;
}

static struct write *version_of(const struct persistence *persistence, uint64_t tag)
{
    return persistence->slots[tag & ~PERSIST_TAG];
}

/* A tag for the version. */
static void take_slot(struct persistence *persistence, struct write *write)
{
    struct fabric *fabric = persistence->fabric;

    if (persistence->free_slot_count > 0) {
        write->slot = persistence->free_slots[--persistence->free_slot_count];
    } else {
        if (persistence->slot_count == persistence->slot_room) {
            size_t room = persistence->slot_room == 0 ? 64 : 2 * persistence->slot_room;

            persistence->slot_room = room;
            persistence->slots =
                allocation_checked(realloc(persistence->slots, room * sizeof(struct write *)));
            persistence->free_slots =
                allocation_checked(realloc(persistence->free_slots, room * sizeof(uint64_t)));
        }
        write->slot = persistence->slot_count++;
    }
    persistence->slots[write->slot] = write;
    write->bank = &fabric->homes[write->block->block & (fabric->machine->llc.banks - 1)];
}

/* The slot is free; its place is empty already. */
static void leave_place(struct persistence *persistence, struct write *write)
{
    persistence->free_slots[persistence->free_slot_count++] = write->slot;
    write->place = NULL;
}

static void displaced(void *owner, unsigned agent, uint64_t tag, unsigned core)
{
    struct persistence *persistence = owner;
    struct write *write = version_of(persistence, tag);

    (void)core;
    leave_place(persistence, write);
    persistence->protocol->displaced(persistence, write, agent);
}

/* Where the newest version that is not home is in the log. A store that is under way to the block
 * has made a version, too, but that has no data yet. */
static uint64_t source(void *owner, uint64_t number)
{
    const struct block_state *block = banks_find(owner, number);
    const struct write *write = block != NULL ? block->newest : NULL;

    while (write != NULL && write->log == 0 && !write->home)
        write = write->older;
    return write == NULL || write->home ? number : write->log;
}

bool banks_has(const struct write *write)
{
    return write->place != NULL || write->banked || (write->newer == NULL && !write->evicted);
}

void banks_flush(struct persistence *persistence, const struct write *write)
{
    if (write->newer == NULL)
        requester_flush(persistence->fabric, write->tx->core, write->block->block, true);
}

static uint64_t age(void *owner, uint64_t tag)
{
    return version_of(owner, tag)->version;
}

/* A block comes to its bank to stay there: a version without a way gets one. The bank writes one
 * block after the other. */
static void at_home(void *owner, const struct message *message)
{
    struct persistence *persistence = owner;
    struct fabric *fabric = persistence->fabric;
    struct home *home = &fabric->homes[message->to - fabric->machine->core.count];
    uint64_t now = fabric->queue.now, begin = home->persist_free > now ? home->persist_free : now;
    const struct operation *operation = persistence->operations[message->version];
    struct write *write = operation->write_count > 0 ? operation->writes[0] : NULL;
    struct message *answer = fabric_message(fabric, MESSAGE_PERSISTED, message->to, message->from,
                                            message->block, message->requester);

    if (write != NULL && write->place == NULL && !write->resident)
        banks_place(persistence, write);
    fabric_count(fabric, message->requester, COUNT_LLC_BLOCKS, 1);
    answer->version = message->version;
    home->persist_free = begin + fabric->machine->llc.latency;
    fabric_send(fabric, answer, home->persist_free);
}

static void arriving(void *owner, uint64_t number)
{
    struct persistence *persistence = owner;
    struct block_state *block = banks_find(persistence, number);

    if (block != NULL)
        persistence->protocol->arrived(persistence, block);
}

static bool departing(void *owner, uint64_t number, struct line *place)
{
    struct persistence *persistence = owner;
    struct block_state *block = banks_find(persistence, number);
    struct write *write =
        block == NULL ? NULL : persistence->protocol->departed(persistence, block);

    if (write == NULL)
        return false;
    take_slot(persistence, write);
    write->place = place;
    array_put(&write->bank->llc, place, PERSIST_TAG | write->slot, &(struct line){0});
    return true;
}

void banks_place(struct persistence *persistence, struct write *write)
{
    take_slot(persistence, write);
    write->place = transactions_place(write->bank, write->block->block, PERSIST_TAG | write->slot,
                                      write->tx->core);
}

void banks_release(struct persistence *persistence, struct write *write)
{
    if (write->place == NULL)
        return;
    array_remove(&write->bank->llc, write->place);
    leave_place(persistence, write);
}

void banks_init(struct persistence *persistence)
{
    persistence->hooks = (struct persist_hooks){.owner = persistence,
                                                .evicted = evicted,
                                                .displaced = displaced,
                                                .age = age,
                                                .source = source,
                                                .at_home = at_home};
    if (persistence->protocol != NULL && persistence->protocol->arrived != NULL) {
        persistence->hooks.age = NULL;
        persistence->hooks.arriving = arriving;
        persistence->hooks.departing = departing;
    }
}
