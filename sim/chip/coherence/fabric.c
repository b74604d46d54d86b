/*
 * SPDX-License-Identifier: MIT
 *
 * Agents, and how a message goes out; see fabric.h.
 */
#include "chip/coherence/fabric.h"

#include <stdlib.h>

/*
 * Controllers stand in the corners, more than four of them evenly along the tiles. The ports of one
 * are side by side in a row of tiles, in a corner from the edge inwards.
 */
static unsigned port_tile(const struct machine *machine, unsigned controller, unsigned port)
{
    unsigned width = machine->mesh.width, tiles = width * machine->mesh.height;

    if (machine->memory.controllers > 4) {
        unsigned tile = controller * tiles / machine->memory.controllers;

        return tile - tile % width + (tile + port) % width;
    }
    return (controller & 1 ? width - 1 - port : port) + (controller & 2 ? tiles - width : 0);
}

static void place_agents(struct fabric *fabric)
{
    const struct machine *machine = fabric->machine;
    unsigned tiles = machine->mesh.width * machine->mesh.height, agent = 0;

    for (unsigned i = 0; i < machine->core.count; i++)
        fabric->mesh.tile[agent++] = (uint16_t)i;
    for (unsigned i = 0; i < machine->llc.banks; i++)
        fabric->mesh.tile[agent++] = (uint16_t)(i % tiles);
    for (unsigned i = 0; i < machine->memory.controllers; i++)
        for (unsigned port = 0; port < machine->memory.ports; port++)
            fabric->mesh.tile[agent++] = (uint16_t)port_tile(machine, i, port);
}

/* A page's frame chooses with the higher bits of an address, which are the same in all its blocks.
 */
static uint64_t controller_bits(const struct fabric *fabric)
{
    const struct address_map *map = &fabric->memory.map;
    uint64_t bits = 0;

    if (!memory_is_dram(&fabric->memory))
        return (uint64_t)(fabric->machine->memory.controllers - 1) << fabric->bank_shift;
    for (unsigned i = 0; i < map->controller.count; i++)
        if (map->pivot[i] < FRAME_BYTES)
            bits |= map->pivot[i] / fabric->machine->block;
    return bits;
}

unsigned fabric_port(const struct fabric *fabric, uint64_t block)
{
    for (uint64_t left = fabric->controller_bits; left != 0;) {
        uint64_t highest = (uint64_t)1 << (63 - __builtin_clzll(left));

        block = (block & (highest - 1)) | (block >> 1 & ~(highest - 1));
        left ^= highest;
    }
    return (unsigned)(block % fabric->machine->memory.ports);
}

static bool init_cache(struct private_cache *cache, const struct machine *machine)
{
    uint32_t l1_sets = machine->l1.size / machine->block / machine->l1.ways;
    uint32_t l2_sets = machine->l2.size / machine->block / machine->l2.ways;

    cache->inclusive = machine->l2_policy == MACHINE_INCLUSIVE;
    return array_init(&cache->l1, l1_sets, machine->l1.ways, 0) &&
           array_init(&cache->l2, l2_sets, machine->l2.ways, 0);
}

/* An agent sends a message a cycle: what it sends later leaves later. */
static uint64_t departure(struct fabric *fabric, unsigned from, uint64_t time)
{
    uint64_t *last = &fabric->last_sent[from];

    if (time < fabric->queue.now)
        time = fabric->queue.now;
    if (time <= *last)
        time = *last + 1;
    *last = time;
    return time;
}

/* The message exists, and its tokens are its own from now on. */
static void announce(struct fabric *fabric, const struct message *message)
{
    fabric_count(fabric, message->requester, COUNT_MESSAGES, 1);
    if (message->tokens > 0 && fabric->check != NULL)
        fabric->sent(fabric->check, message);
}

static void depart(struct fabric *fabric, struct message *message, uint64_t time)
{
    message->sent = false;
    queue_put(&fabric->queue, message, departure(fabric, message->from, time));
}

static void count_both(struct fabric *fabric, unsigned controller, unsigned core, enum count count)
{
    fabric_count(fabric, core, count, 1);
    fabric_count(fabric, fabric->machine->core.count + controller, count, 1);
}

static void answered(void *owner, struct message *answer, uint64_t time)
{
    depart(owner, answer, time);
}

static void accessed(void *owner, const struct memory_done *done)
{
    static const enum count rows[] = {
        [DRAM_ROW_HIT] = COUNT_ROW_HITS,
        [DRAM_ROW_MISS] = COUNT_ROW_MISSES,
        [DRAM_ROW_CONFLICT] = COUNT_ROW_CONFLICTS,
    };
    struct fabric *fabric = owner;

    count_both(fabric, done->controller, done->core, rows[done->row]);
    if (!done->write)
        fabric_count(fabric, fabric->machine->core.count + done->controller, COUNT_LATENCY,
                     done->time - done->begun);
}

bool fabric_init(struct fabric *fabric, const struct machine *machine)
{
    unsigned first_memory = machine->core.count + machine->llc.banks;
    unsigned agents = first_memory + machine->memory.controllers * machine->memory.ports;

    *fabric = (struct fabric){
        .own = *machine,
        .machine = &fabric->own,
        .first_memory = first_memory,
        .tokens = machine->core.count,
        .bank_shift = (unsigned)__builtin_ctz(machine->llc.banks),
        .data_flits =
            1 + (machine->block + machine->mesh.link_bytes - 1) / machine->mesh.link_bytes,
    };
    fabric->cores = calloc(machine->core.count, sizeof *fabric->cores);
    fabric->counts = calloc(fabric_count_rows(fabric), sizeof *fabric->counts);
    fabric->last_sent = calloc(agents, sizeof *fabric->last_sent);
    fabric->last_arrival = calloc((size_t)agents * agents, sizeof *fabric->last_arrival);
    if (fabric->cores == NULL || fabric->counts == NULL || fabric->last_sent == NULL ||
        fabric->last_arrival == NULL || !queue_init(&fabric->queue) ||
        !mesh_init(&fabric->mesh, machine->mesh.width, machine->mesh.height, machine->mesh.router,
                   machine->mesh.link, agents))
        return false;
    for (unsigned i = 0; i < machine->core.count; i++)
        if (!init_cache(&fabric->cores[i].cache, machine))
            return false;
    place_agents(fabric);
    if (!memory_init(&fabric->memory, fabric->machine, &fabric->queue))
        return false;
    fabric->controller_bits = controller_bits(fabric);
    fabric->memory.answered = answered;
    fabric->memory.done = accessed;
    fabric->memory.owner = fabric;
    return true;
}

void fabric_destroy(struct fabric *fabric)
{
    for (unsigned i = 0; i < fabric->machine->core.count; i++) {
        array_destroy(&fabric->cores[i].cache.l1);
        array_destroy(&fabric->cores[i].cache.l2);
    }
    free(fabric->cores);
    free(fabric->counts);
    free(fabric->last_sent);
    free(fabric->last_arrival);
    memory_destroy(&fabric->memory);
    mesh_destroy(&fabric->mesh);
    queue_destroy(&fabric->queue);
}

struct message *fabric_message(struct fabric *fabric, enum message_type type, unsigned from,
                               unsigned to, uint64_t block, unsigned requester)
{
    struct message *message = queue_new(&fabric->queue);

    message->type = (uint8_t)type;
    message->from = (uint16_t)from;
    message->to = (uint16_t)to;
    message->block = block;
    message->requester = (uint16_t)requester;
    return message;
}

void fabric_load_tokens(struct message *message, struct line *line, unsigned tokens,
                        bool with_owner, bool data)
{
    message->tokens = (uint16_t)tokens;
    message->owner = with_owner;
    message->data = data && line->valid;
    message->version = line->version;
    line->tokens = (uint16_t)(line->tokens - tokens);
    if (with_owner) {
        message->dirty = line->dirty;
        line->owner = false;
        line->dirty = false;
    }
    if (line->tokens == 0)
        line->valid = false;
}

void fabric_take_tokens(struct line *line, const struct message *message)
{
    line->tokens = (uint16_t)(line->tokens + message->tokens);
    line->owner |= message->owner;
    line->dirty |= message->dirty;
    if (message->data) {
        line->valid = true;
        line->version = message->version;
    }
}

void fabric_send(struct fabric *fabric, struct message *message, uint64_t time)
{
    announce(fabric, message);
    if (memory_is_dram(&fabric->memory) && message->to >= fabric->first_memory)
        memory_leaves(&fabric->memory, fabric_place(message));
    depart(fabric, message, time);
}

void fabric_memory_read(struct fabric *fabric, unsigned controller, struct message *answer)
{
    count_both(fabric, controller, answer->requester, COUNT_MEMORY_READS);
    announce(fabric, answer);
    memory_read(&fabric->memory, controller, fabric_place(answer), answer->requester, answer);
}

void fabric_memory_write(struct fabric *fabric, unsigned controller, const struct message *store)
{
    count_both(fabric, controller, store->requester, COUNT_MEMORY_WRITES);
    memory_write(&fabric->memory, controller, store->block, store->requester);
}

void fabric_memory_persist(struct fabric *fabric, unsigned controller,
                           const struct message *persist)
{
    struct message *answer = fabric_message(fabric, MESSAGE_PERSISTED, persist->to, persist->from,
                                            persist->block, persist->requester);

    answer->version = persist->version;
    if (persist->type == MESSAGE_LOG_READ) {
        answer->data = true;
        fabric_memory_read(fabric, controller, answer);
        return;
    }
    count_both(fabric, controller, persist->requester, COUNT_MEMORY_WRITES);
    announce(fabric, answer);
    memory_persist(&fabric->memory, controller, persist->block, persist->requester, answer);
}

static void deliver(struct fabric *fabric, struct message *message, uint64_t time)
{
    if (fabric->jitter != 0) {
        unsigned agents = fabric->mesh.agents;
        uint64_t *last = &fabric->last_arrival[message->from * agents + message->to];

        fabric->seed = fabric->seed * 6364136223846793005ull + 1442695040888963407ull;
        time += (fabric->seed >> 33) % fabric->jitter;
        if (time <= *last)
            time = *last + 1;
        *last = time;
    }
    message->sent = true;
    queue_put(&fabric->queue, message, time);
}

static void count_flits(struct fabric *fabric, unsigned core, unsigned flits, uint64_t hops,
                        unsigned receivers)
{
    fabric_count(fabric, core, COUNT_FLIT_HOPS, flits * hops);
    fabric_count(fabric, core, COUNT_FLIT_ROUTERS, flits * (hops + receivers));
}

static void branch(struct fabric *fabric, const struct message *message, unsigned to, uint64_t time,
                   uint64_t *hops)
{
    struct message *copy = queue_new(&fabric->queue);

    *copy = *message;
    copy->to = (uint16_t)to;
    if (memory_is_dram(&fabric->memory) && to >= fabric->first_memory)
        memory_leaves(&fabric->memory, copy->block);
    deliver(fabric, copy, mesh_branch(&fabric->mesh, message->from, to, 1, time, hops));
}

static void inject_multicast(struct fabric *fabric, struct message *message)
{
    uint64_t time = mesh_multicast(&fabric->mesh, message->from, 1, fabric->queue.now), hops = 0;
    unsigned receivers = message->to_home + message->to_memory;

    for (uint64_t rest = message->cores; rest != 0; rest &= rest - 1) {
        branch(fabric, message, (unsigned)__builtin_ctzll(rest), time, &hops);
        receivers++;
    }
    if (message->to_home)
        branch(fabric, message, fabric_home_agent(fabric, message->block), time, &hops);
    if (message->to_memory)
        branch(fabric, message, fabric_memory_agent(fabric, message->block), time, &hops);
    count_flits(fabric, message->requester, 1, hops, receivers);
    queue_free(&fabric->queue, message);
}

void fabric_inject(struct fabric *fabric, struct message *message)
{
    unsigned flits = message->data ? fabric->data_flits : 1;
    uint64_t hops = 0, time;

    if (message->multicast) {
        inject_multicast(fabric, message);
        return;
    }
    time = mesh_send(&fabric->mesh, message->from, message->to, flits, fabric->queue.now, &hops);
    count_flits(fabric, message->requester, flits, hops, 1);
    deliver(fabric, message, time);
}

void fabric_multicast(struct fabric *fabric, struct message *message, uint64_t cores, bool home,
                      bool memory, uint64_t time)
{
    unsigned receivers = (unsigned)__builtin_popcountll(cores) + home + memory;

    if (receivers == 0) {
        queue_free(&fabric->queue, message);
        return;
    }
    if (receivers == 1) {
        message->to = (uint16_t)(home     ? fabric_home_agent(fabric, message->block)
                                 : memory ? fabric_memory_agent(fabric, message->block)
                                          : (unsigned)__builtin_ctzll(cores));
    } else {
        fabric_count(fabric, message->requester, COUNT_MULTICASTS, 1);
        message->multicast = true;
        message->cores = cores;
        message->to_home = home;
        message->to_memory = memory;
    }
    fabric_send(fabric, message, time);
}
