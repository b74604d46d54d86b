/*
 * SPDX-License-Identifier: MIT
 *
 * TokenB; see token.h.
 */
#include "chip/coherence/token.h"

#include "chip/coherence/check.h"
#include "chip/coherence/requester.h"
#include "chip/coherence/token_state.h"
#include "chip/engine/allocation.h"

#include <stdlib.h>

bool token_init(struct fabric *fabric)
{
    fabric->token = calloc(1, sizeof *fabric->token);
    if (fabric->token != NULL)
        fabric->token->active = calloc(fabric->mesh.agents, sizeof *fabric->token->active);
    return fabric->token != NULL && fabric->token->active != NULL;
}

static void free_list(struct token_starving *list)
{
    while (list != NULL) {
        struct token_starving *next = list->next;

        free(list);
        list = next;
    }
}

void token_destroy(struct fabric *fabric)
{
    for (unsigned agent = 0; agent < fabric->mesh.agents; agent++)
        block_map_destroy(&fabric->token->active[agent]);
    free(fabric->token->active);
    block_map_destroy(&fabric->token->memory);
    free_list(fabric->token->starving);
    free_list(fabric->token->free);
    free(fabric->token);
}

unsigned token_in_memory(const struct fabric *fabric, uint64_t block, bool *owner)
{
    const uint64_t *value = block_map_find(&fabric->token->memory, block);

    *owner = value == NULL || *value % 2 != 0;
    return value == NULL ? fabric->tokens : (unsigned)(*value / 2);
}

static void set_in_memory(struct fabric *fabric, uint64_t block, const struct line *line)
{
    if (line->tokens == fabric->tokens)
        block_map_remove(&fabric->token->memory, block);
    else
        *block_map_add(&fabric->token->memory, block) = 2 * (uint64_t)line->tokens + line->owner;
}

/* --- cores --- */

static void ask_all(struct fabric *fabric, unsigned core, const struct mshr *mshr, uint64_t time)
{
    struct message *request = fabric_message(fabric, mshr->write ? MESSAGE_WRITE : MESSAGE_READ,
                                             core, 0, mshr->block, core);
    struct message *timer = fabric_message(fabric, MESSAGE_TIMER, core, core, mshr->block, core);

    fabric_multicast(fabric, request, fabric_all_cores(fabric) & ~fabric_bit(core), true, true,
                     time);
    timer->mshr = (uint8_t)(mshr - fabric->cores[core].mshrs);
    timer->generation = mshr->generation;
    timer->sent = true;
    queue_put(&fabric->queue, timer, time + fabric->machine->token.timeout);
}

void token_request(struct fabric *fabric, unsigned core, struct mshr *mshr, uint64_t time)
{
    ask_all(fabric, core, mshr, time);
}

static void to_arbiter(struct fabric *fabric, unsigned core, const struct mshr *mshr,
                       enum message_type type)
{
    struct message *message = fabric_message(
        fabric, type, core, fabric_home_agent(fabric, mshr->block), mshr->block, core);

    message->report = mshr->write;
    fabric_send(fabric, message, fabric->queue.now + 1);
}

void token_satisfied(struct fabric *fabric, unsigned core, struct mshr *mshr)
{
    if (mshr->persistent)
        to_arbiter(fabric, core, mshr, MESSAGE_FED);
}

static void too_late(struct fabric *fabric, unsigned core, const struct message *timer)
{
    struct mshr *mshr = &fabric->cores[core].mshrs[timer->mshr];

    if (!mshr->used || mshr->generation != timer->generation || mshr->persistent)
        return;
    if (mshr->retries < fabric->machine->token.retries) {
        mshr->retries++;
        ask_all(fabric, core, mshr, fabric->queue.now + 1);
        return;
    }
    mshr->persistent = true;
    to_arbiter(fabric, core, mshr, MESSAGE_STARVE);
}

static void granted(struct fabric *fabric, unsigned core, struct message *message)
{
    struct message *put;

    if (token_pass_on(fabric, core, message, fabric->queue.now + 1) ||
        requester_granted(fabric, core, message))
        return;
    put = fabric_message(fabric, MESSAGE_PUT, core, fabric_home_agent(fabric, message->block),
                         message->block, core);
    put->tokens = message->tokens;
    put->owner = message->owner;
    put->dirty = message->dirty;
    put->data = message->data;
    put->version = message->version;
    fabric_send(fabric, put, fabric->queue.now + 1);
}

void token_at_core(struct fabric *fabric, unsigned core, struct message *message)
{
    uint64_t time = fabric->queue.now + fabric->machine->l2.latency;
    struct line *line;
    unsigned starving;
    bool write;

    if (message->type == MESSAGE_TIMER) {
        too_late(fabric, core, message);
        return;
    }
    if (message->type == MESSAGE_GRANT) {
        granted(fabric, core, message);
        return;
    }
    if (message->type == MESSAGE_ACTIVATE || message->type == MESSAGE_DEACTIVATE)
        token_record(fabric, core, message);
    if (message->type == MESSAGE_DEACTIVATE || message->requester == core)
        return;
    fabric_count(fabric, message->requester, COUNT_SNOOPS, 1);
    line = private_cache_find(&fabric->cores[core].cache, message->block);
    if (line == NULL)
        return;
    if (message->type == MESSAGE_ACTIVATE)
        token_surrender(fabric, core, message, line, time);
    else if (!token_active(fabric, core, message->block, &starving, &write))
        token_answer(fabric, core, message, line, false, time);
    requester_drop(fabric, core, message->block, line);
}

/* --- homes --- */

static void activate(struct fabric *fabric, struct home *home, const struct token_starving *one,
                     enum message_type type, uint64_t time)
{
    struct message *message = fabric_message(fabric, type, home->agent, 0, one->block, one->core);
    struct line *line = array_find(&home->llc, one->block);

    message->report = one->write;
    token_record(fabric, home->agent, message);
    if (type == MESSAGE_ACTIVATE && line != NULL) {
        token_surrender(fabric, home->agent, message, line, time);
        if (line->tokens == 0)
            array_remove(&home->llc, line);
    }
    fabric_multicast(fabric, message, fabric_all_cores(fabric), false, true, time);
}

/* The first persistent request of the block, after which another one may follow. */
static struct token_starving *first_of(const struct fabric *fabric, uint64_t block)
{
    struct token_starving *one = fabric->token->starving;

    while (one != NULL && one->block != block)
        one = one->next;
    return one;
}

static void starve(struct fabric *fabric, struct home *home, const struct message *message,
                   uint64_t time)
{
    struct token_starving **end = &fabric->token->starving;
    struct token_starving *one = fabric->token->free;
    bool first = first_of(fabric, message->block) == NULL;

    if (one != NULL)
        fabric->token->free = one->next;
    else
        one = allocation_checked(malloc(sizeof *one));
    *one = (struct token_starving){
        .block = message->block, .core = message->from, .write = message->report};
    while (*end != NULL)
        end = &(*end)->next;
    *end = one;
    if (first)
        activate(fabric, home, one, MESSAGE_ACTIVATE, time);
}

static void feed(struct fabric *fabric, struct home *home, const struct message *message,
                 uint64_t time)
{
    bool was_active = first_of(fabric, message->block)->core == message->from;
    struct token_starving **at = &fabric->token->starving, *one;

    while ((*at)->block != message->block || (*at)->core != message->from)
        at = &(*at)->next;
    one = *at;
    *at = one->next;
    if (was_active) {
        activate(fabric, home, one, MESSAGE_DEACTIVATE, time);
        if (first_of(fabric, message->block) != NULL)
            activate(fabric, home, first_of(fabric, message->block), MESSAGE_ACTIVATE, time + 1);
    }
    one->next = fabric->token->free;
    fabric->token->free = one;
}

/* A block leaves the bank: its tokens go to memory, with the data if memory's are older. */
static void evict(struct fabric *fabric, struct home *home, struct line *line, unsigned core,
                  uint64_t time)
{
    uint64_t block = *array_tag(&home->llc, line);
    struct message *store = fabric_message(fabric, MESSAGE_STORE, home->agent,
                                           fabric_memory_agent(fabric, block), block, core);
    bool dirty = line->dirty && !MUTANT(fabric, DIRTY_DATA_DROPPED);

    fabric_load_tokens(store, line, line->tokens, line->owner, dirty);
    array_remove(&home->llc, line);
    fabric_send(fabric, store, time);
}

static void keep(struct fabric *fabric, struct home *home, const struct message *message,
                 uint64_t time)
{
    struct line *line = array_find(&home->llc, message->block);

    fabric_count(fabric, message->requester, COUNT_LLC_BLOCKS, 1);
    if (line == NULL) {
        line = array_victim(&home->llc, message->block);
        if (*array_tag(&home->llc, line) != ARRAY_NONE)
            evict(fabric, home, line, message->requester, time);
        array_put(&home->llc, line, message->block, &(struct line){0});
    }
    array_touch(&home->llc, line);
    fabric_take_tokens(line, message);
}

void token_at_home(struct fabric *fabric, struct home *home, struct message *message)
{
    uint64_t now = fabric->queue.now;
    uint64_t time = home->port_free > now ? home->port_free : now;
    struct line *line;
    unsigned core;
    bool write;

    home->port_free = time + 1;
    time += fabric->machine->llc.latency;
    if (message->type == MESSAGE_STARVE) {
        starve(fabric, home, message, time);
        return;
    }
    if (message->type == MESSAGE_FED) {
        feed(fabric, home, message, time);
        return;
    }
    fabric_count(fabric, message->requester, COUNT_LLC_LOOKUPS, 1);
    if (message->type == MESSAGE_PUT) {
        if (!token_pass_on(fabric, home->agent, message, time))
            keep(fabric, home, message, time);
        return;
    }
    line = array_find(&home->llc, message->block);
    if (line == NULL || token_active(fabric, home->agent, message->block, &core, &write))
        return;
    array_touch(&home->llc, line);
    fabric_count(fabric, message->requester, COUNT_LLC_BLOCKS, line->owner);
    token_answer(fabric, home->agent, message, line, true, time);
    if (line->tokens == 0)
        array_remove(&home->llc, line);
}

/* --- memory --- */

/* All tokens that memory has go to a core: with data, which are read first, if the owner's is one.
 */
static void give_from_memory(struct fabric *fabric, unsigned controller, unsigned agent,
                             unsigned core, uint64_t block, struct line *line)
{
    bool owner = line->owner;
    struct message *grant =
        token_grant(fabric, agent, core, block, line, line->tokens, owner, owner);

    if (owner)
        fabric_memory_read(fabric, controller, grant);
    else
        fabric_send(fabric, grant, fabric->queue.now + 1);
}

void token_at_memory(struct fabric *fabric, unsigned controller, struct message *message)
{
    /* The controllers have one table together: a block's may change (memory/frames.h). */
    unsigned table = fabric->first_memory, core;
    uint64_t block = message->block;
    struct line line = {.valid = true};
    bool active, write;

    line.tokens = (uint16_t)token_in_memory(fabric, block, &line.owner);
    if (message->type == MESSAGE_STORE) {
        if (message->data) {
            fabric_memory_write(fabric, controller, message);
            if (fabric->check != NULL)
                check_memory_written(fabric->check, block, message->version);
        }
        line.tokens = (uint16_t)(line.tokens + message->tokens);
        line.owner |= message->owner;
    }
    if (message->type == MESSAGE_ACTIVATE || message->type == MESSAGE_DEACTIVATE)
        token_record(fabric, table, message);
    active = token_active(fabric, table, block, &core, &write);
    if (fabric->check != NULL)
        line.version = check_memory(fabric->check, block);
    if (active && (message->type == MESSAGE_ACTIVATE || message->type == MESSAGE_STORE)) {
        if (!(message->type == MESSAGE_STORE && MUTANT(fabric, STARVED)) && line.tokens > 0 &&
            (write || line.owner))
            give_from_memory(fabric, controller, message->to, core, block, &line);
    } else if (!active && (message->type == MESSAGE_READ || message->type == MESSAGE_WRITE)) {
        if (line.tokens > 0 && (line.owner || message->type == MESSAGE_WRITE))
            give_from_memory(fabric, controller, message->to, message->requester, block, &line);
    }
    set_in_memory(fabric, block, &line);
}
