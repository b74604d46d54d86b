/*
 * SPDX-License-Identifier: MIT
 *
 * The memory; see memory.h.
 */
#include "chip/memory/memory.h"

#include "chip/engine/divisor.h"

#include <stdlib.h>

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t clock_of(const struct memory *memory, uint64_t cycle)
{
    return divide_up(cycle * memory->clocks, memory->per_cycles);
}

static uint64_t cycle_of(const struct memory *memory, uint64_t clock)
{
    return divide_up(clock * memory->per_cycles, memory->clocks);
}

static void request_done(void *owner, const struct dram_request *request, uint64_t clock)
{
    struct memory *memory = owner;
    struct memory_done done = {
        .answer = request->answer,
        .controller = request->controller,
        .core = request->core,
        .row = request->outcome,
        .write = request->write,
        .begun = request->cycle,
        .time = cycle_of(memory, clock) + memory->machine->memory.overhead,
    };

    memory->done(memory->owner, &done);
    if (done.answer != NULL)
        memory->answered(memory->owner, done.answer, done.time);
}

static bool init_dram(struct memory *memory)
{
    const struct machine *machine = memory->machine;
    uint32_t controllers = machine->memory.controllers;
    uint64_t clock = (uint64_t)machine->memory.tCK * machine->core.mhz, cycle = 1000000; /* ps */
    uint64_t divisor = greatest_divisor(clock, cycle);
    char problem[256];

    memory->clocks = cycle / divisor;
    memory->per_cycles = clock / divisor;
    memory->page_shift =
        (unsigned)__builtin_ctz(FRAME_BYTES) - (unsigned)__builtin_ctz(machine->block);
    machine_address_map(machine, &memory->map, problem, sizeof problem);
    frames_init(&memory->frames, &memory->map, machine->memory.address_bits);
    memory->wake = malloc(controllers * sizeof *memory->wake);
    memory->controllers = calloc(controllers, sizeof *memory->controllers);
    for (uint32_t i = 0; memory->wake != NULL && memory->controllers != NULL && i < controllers;
         i++) {
        if (!dram_init(&memory->controllers[i], machine))
            return false;
        memory->controllers[i].done = request_done;
        memory->controllers[i].owner = memory;
        memory->wake[i] = UINT64_MAX;
    }
    return memory->wake != NULL && memory->controllers != NULL;
}

bool memory_init(struct memory *memory, const struct machine *machine, struct queue *queue)
{
    *memory =
        (struct memory){.latency = machine->memory.latency,
                        .occupancy = machine->memory.occupancy != 0 ? machine->memory.occupancy
                                                                    : machine->memory.latency,
                        .machine = machine,
                        .queue = queue};
    return machine->memory.model == MACHINE_SIMPLE || init_dram(memory);
}

void memory_destroy(struct memory *memory)
{
    if (!memory_is_dram(memory))
        return;
    for (uint32_t i = 0; i < memory->machine->memory.controllers; i++)
        dram_destroy(&memory->controllers[i]);
    free(memory->controllers);
    free(memory->wake);
    frames_destroy(&memory->frames);
}

static uint64_t page_of(const struct memory *memory, uint64_t block)
{
    return block >> memory->page_shift;
}

static uint64_t address_of(struct memory *memory, uint64_t block)
{
    uint64_t in_page = block & (((uint64_t)1 << memory->page_shift) - 1);

    return frames_address(&memory->frames, page_of(memory, block)) +
           in_page * memory->machine->block;
}

unsigned memory_controller(struct memory *memory, uint64_t block)
{
    return address_index_of(&memory->map.controller, address_of(memory, block));
}

void memory_place(struct memory *memory, uint64_t block, uint64_t frame)
{
    if (memory_is_dram(memory))
        frames_set(&memory->frames, page_of(memory, block), frame);
}

void memory_leaves(struct memory *memory, uint64_t block)
{
    frames_leave(&memory->frames, page_of(memory, block));
}

void memory_arrives(struct memory *memory, uint64_t block)
{
    frames_arrive(&memory->frames, page_of(memory, block));
}

/* The controller's event, if it needs one that is earlier than the one that it has. */
static void set_wake(struct memory *memory, unsigned controller, uint64_t clock)
{
    struct message *wake;
    uint64_t time;

    if (clock == UINT64_MAX)
        return;
    time = cycle_of(memory, clock);
    if (time >= memory->wake[controller])
        return;
    memory->wake[controller] = time;
    wake = queue_new(memory->queue);
    wake->type = MESSAGE_COMMAND;
    wake->to = (uint16_t)controller;
    wake->sent = true;
    queue_put(memory->queue, wake, time);
}

static void request(struct memory *memory, unsigned controller, uint64_t block, unsigned core,
                    bool write, struct message *answer)
{
    struct dram *dram = &memory->controllers[controller];
    uint64_t address = address_of(memory, block), now = memory->queue->now;
    struct dram_request asked = {
        .block = block,
        .row = address & memory->map.row,
        .arrived = clock_of(memory, now),
        .cycle = now,
        .answer = answer,
        .core = (uint16_t)core,
        .controller = (uint16_t)controller,
        .rank = (uint8_t)address_index_of(&memory->map.rank, address),
        .bank = (uint8_t)address_index_of(&memory->map.bank, address),
        .write = write,
    };

    dram_arrive(dram, &asked);
    set_wake(memory, controller, dram_run(dram, asked.arrived));
}

void memory_wake(struct memory *memory, unsigned controller)
{
    uint64_t now = memory->queue->now;

    if (memory->wake[controller] != now)
        return; /* an earlier one took its place */
    memory->wake[controller] = UINT64_MAX;
    set_wake(memory, controller,
             dram_run(&memory->controllers[controller], now * memory->clocks / memory->per_cycles));
}

/* The simple model: when the access is done. */
static uint64_t take_turn(struct memory *memory, unsigned controller)
{
    uint64_t time = memory->queue->now;
    uint64_t start = memory->free[controller] > time ? memory->free[controller] : time;

    memory->free[controller] = start + memory->occupancy;
    return start + memory->latency;
}

void memory_read(struct memory *memory, unsigned controller, uint64_t block, unsigned core,
                 struct message *answer)
{
    if (memory_is_dram(memory))
        request(memory, controller, block, core, false, answer);
    else
        memory->answered(memory->owner, answer, take_turn(memory, controller));
}

void memory_write(struct memory *memory, unsigned controller, uint64_t block, unsigned core)
{
    if (memory_is_dram(memory))
        request(memory, controller, block, core, true, NULL);
    else
        take_turn(memory, controller);
}

void memory_persist(struct memory *memory, unsigned controller, uint64_t block, unsigned core,
                    struct message *answer)
{
    if (memory_is_dram(memory))
        request(memory, controller, block, core, true, answer);
    else
        memory->answered(memory->owner, answer, take_turn(memory, controller));
}
