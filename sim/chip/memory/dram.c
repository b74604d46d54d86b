/*
 * SPDX-License-Identifier: MIT
 *
 * The controller; see dram.h.
 */
#include "chip/memory/dram.h"

#include "chip/engine/allocation.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = UINT32_MAX };

/* The order of commands that can be issued at the same clock. */
enum priority { PRIORITY_REFRESH, PRIORITY_COLUMN, PRIORITY_ACTIVATE, PRIORITY_PRECHARGE };

struct choice {
    struct dram_command command; /* clock UINT64_MAX: none */
    enum priority priority;
    uint32_t request; /* its place in the queue, or NOBODY */
};

bool dram_init(struct dram *dram, const struct machine *machine)
{
    uint32_t burst = machine->memory.burst * machine->memory.bus_bytes;

    *dram = (struct dram){
        .queue_most = machine->memory.queue,
        .bursts = machine->block > burst ? machine->block / burst : 1,
        .wait_most = machine->memory.wait_most,
        .interval = machine->memory.refresh == MACHINE_ON ? machine->memory.tREFI : 0,
        .closed_page = machine->memory.page == MACHINE_CLOSED,
    };
    dram->queue = calloc(dram->queue_most, sizeof *dram->queue);
    dram->refresh = calloc(machine->memory.ranks, sizeof *dram->refresh);
    if (!timing_init(&dram->timing, machine) || dram->queue == NULL || dram->refresh == NULL)
        return false;
    for (uint32_t i = 0; i < machine->memory.ranks; i++)
        dram->refresh[i] = dram->interval * (i + 1) / machine->memory.ranks;
    return true;
}

void dram_destroy(struct dram *dram)
{
    timing_destroy(&dram->timing);
    free(dram->queue);
    free(dram->refresh);
    free(dram->waiting);
}

static struct timing_bank *bank_of(const struct dram *dram, unsigned rank, unsigned bank)
{
    return &dram->timing.rank[rank].banks[bank];
}

/* Whether the row is open that the request wants. */
static bool is_hit(const struct dram *dram, const struct dram_request *request)
{
    const struct timing_bank *bank = bank_of(dram, request->rank, request->bank);

    return bank->open &&
           (bank->row == request->row || DRAM_MUTANT(&dram->timing, ROW_NOT_COMPARED));
}

/* Keeps the command if it is earlier than the choice so far, or as early and of a higher priority.
 */
static void offer(const struct dram *dram, struct choice *choice, enum priority priority,
                  struct dram_command command, uint32_t request)
{
    if (command.clock < dram->clock)
        command.clock = dram->clock;
    if (command.clock < choice->command.clock ||
        (command.clock == choice->command.clock && priority < choice->priority))
        *choice = (struct choice){command, priority, request};
}

static void offer_refresh(const struct dram *dram, struct choice *choice, uint8_t rank)
{
    uint64_t due = dram->refresh[rank];
    bool open = false;

    for (uint8_t i = 0; i < dram->timing.banks; i++) {
        uint64_t clock = timing_precharge(&dram->timing, rank, i);

        if (!bank_of(dram, rank, i)->open)
            continue;
        open = true;
        offer(dram, choice, PRIORITY_REFRESH,
              (struct dram_command){.clock = clock > due ? clock : due,
                                    .kind = DRAM_PRECHARGE,
                                    .rank = rank,
                                    .bank = i},
              NOBODY);
    }
    if (!open) {
        uint64_t clock = timing_refresh(&dram->timing, rank);

        offer(dram, choice, PRIORITY_REFRESH,
              (struct dram_command){
                  .clock = clock > due ? clock : due, .kind = DRAM_REFRESH, .rank = rank},
              NOBODY);
    }
}

/*
 * The command that a request needs next. `wanted`: a request in the queue wants the row that is
 * open; `first`: none in the queue before it is of its bank.
 */
static void offer_request(const struct dram *dram, struct choice *choice, uint32_t place,
                          bool wanted, bool first)
{
    const struct dram_request *request = &dram->queue[place];
    struct dram_command command = {
        .row = request->row, .rank = request->rank, .bank = request->bank};
    uint64_t due = dram->interval == 0 ? UINT64_MAX : dram->refresh[request->rank];
    uint64_t deadline = dram->queue[0].queued + dram->wait_most;
    enum priority priority;

    if (is_hit(dram, request)) {
        priority = PRIORITY_COLUMN;
        command.kind = request->write ? DRAM_WRITE : DRAM_READ;
        command.clock = timing_column(&dram->timing, request->rank, request->bank, request->write);
    } else if (!bank_of(dram, request->rank, request->bank)->open) {
        priority = PRIORITY_ACTIVATE;
        command.kind = DRAM_ACTIVATE;
        command.clock = timing_activate(&dram->timing, request->rank, request->bank);
    } else {
        priority = PRIORITY_PRECHARGE;
        command.kind = DRAM_PRECHARGE;
        command.clock = timing_precharge(&dram->timing, request->rank, request->bank);
        if (wanted && (place > 0 || DRAM_MUTANT(&dram->timing, HITS_FOREVER)))
            return;
        if (wanted && command.clock < deadline)
            command.clock = deadline;
    }
    if (priority != PRIORITY_COLUMN && !first)
        return;
    if (command.clock < dram->clock)
        command.clock = dram->clock;
    if (command.clock >= due)
        return;
    if (place > 0 && command.clock >= deadline && !DRAM_MUTANT(&dram->timing, HITS_FOREVER))
        return;
    if (request->after != 0 && !DRAM_MUTANT(&dram->timing, OVERTAKEN))
        return;
    offer(dram, choice, priority, command, place);
}

/* Memory.page = closed: rows that nothing in the queue wants. */
static void offer_idle_rows(const struct dram *dram, struct choice *choice, const uint64_t *wanted)
{
    for (uint8_t rank = 0; rank < dram->timing.ranks; rank++) {
        for (uint8_t bank = 0; bank < dram->timing.banks; bank++) {
            struct dram_command command = {.clock = timing_precharge(&dram->timing, rank, bank),
                                           .kind = DRAM_PRECHARGE,
                                           .rank = rank,
                                           .bank = bank};

            if (bank_of(dram, rank, bank)->open && (wanted[rank] >> bank & 1) == 0)
                offer(dram, choice, PRIORITY_PRECHARGE, command, NOBODY);
        }
    }
}

static struct choice choose(const struct dram *dram)
{
    struct choice choice = {.command.clock = UINT64_MAX, .request = NOBODY};
    uint64_t wanted[16] = {0}, seen[16] = {0}; /* a rank: a bit a bank */

    for (uint8_t i = 0; i < dram->timing.ranks && dram->interval != 0; i++)
        offer_refresh(dram, &choice, i);
    for (uint32_t i = 0; i < dram->queued; i++)
        if (is_hit(dram, &dram->queue[i]))
            wanted[dram->queue[i].rank] |= (uint64_t)1 << dram->queue[i].bank;
    for (uint32_t i = 0; i < dram->queued; i++) {
        const struct dram_request *request = &dram->queue[i];
        uint64_t bit = (uint64_t)1 << request->bank;

        offer_request(dram, &choice, i, (wanted[request->rank] & bit) != 0,
                      (seen[request->rank] & bit) == 0);
        seen[request->rank] |= bit;
    }
    if (dram->closed_page)
        offer_idle_rows(dram, &choice, wanted);
    return choice;
}

/* The oldest waiting request goes into the queue, which has a place. */
static void admit(struct dram *dram, const struct dram_request *request, uint64_t clock)
{
    struct dram_request *last = &dram->queue[dram->queued];

    *last = *request;
    last->queued = clock;
    last->number = ++dram->numbers;
    last->bursts = (uint16_t)dram->bursts;
    last->outcome = DRAM_ROW_HIT;
    last->after = 0;
    for (uint32_t i = 0; i < dram->queued; i++)
        if (dram->queue[i].block == request->block)
            last->after = dram->queue[i].number;
    if (last->after == 0 || !DRAM_MUTANT(&dram->timing, REQUEST_LOST))
        dram->queued++;
}

static void remove_request(struct dram *dram, uint32_t place, uint64_t clock)
{
    uint64_t number = dram->queue[place].number;

    dram->queued--;
    memmove(&dram->queue[place], &dram->queue[place + 1],
            (dram->queued - place) * sizeof *dram->queue);
    for (uint32_t i = 0; i < dram->queued; i++)
        if (dram->queue[i].after == number)
            dram->queue[i].after = 0;
    if (dram->waiting_count > 0) {
        const struct dram_request *next = &dram->waiting[dram->waiting_first];

        dram->waiting_first = (dram->waiting_first + 1) % dram->waiting_room;
        dram->waiting_count--;
        admit(dram, next, clock);
    }
}

static void issue(struct dram *dram, const struct choice *choice)
{
    const struct dram_command *command = &choice->command;
    struct dram_request *request = choice->request == NOBODY ? NULL : &dram->queue[choice->request];

    dram->clock = command->clock + 1;
    if (command->kind == DRAM_REFRESH) {
        dram->refresh[command->rank] += dram->interval;
        if (dram->refreshes++ % 4 == 3 && DRAM_MUTANT(&dram->timing, REFRESH_FORGOTTEN))
            return;
    }
    timing_issue(&dram->timing, command);
    if (dram->issued != NULL)
        dram->issued(dram->watcher, command);
    if (request == NULL)
        return;
    if (command->kind == DRAM_PRECHARGE) {
        request->outcome = DRAM_ROW_CONFLICT;
    } else if (command->kind == DRAM_ACTIVATE) {
        if (request->outcome == DRAM_ROW_HIT)
            request->outcome = DRAM_ROW_MISS;
    } else if (--request->bursts == 0) {
        dram->done(dram->owner, request,
                   timing_data_end(&dram->timing, command->clock, request->write));
        remove_request(dram, choice->request, command->clock);
    }
}

static void put_aside(struct dram *dram, const struct dram_request *request)
{
    if (dram->waiting_count == dram->waiting_room) {
        size_t room = dram->waiting_room == 0 ? 64 : 2 * dram->waiting_room;
        struct dram_request *grown = allocation_checked(malloc(room * sizeof *grown));

        for (size_t i = 0; i < dram->waiting_count; i++)
            grown[i] = dram->waiting[(dram->waiting_first + i) % dram->waiting_room];
        free(dram->waiting);
        dram->waiting = grown;
        dram->waiting_first = 0;
        dram->waiting_room = room;
    }
    dram->waiting[(dram->waiting_first + dram->waiting_count++) % dram->waiting_room] = *request;
}

void dram_arrive(struct dram *dram, const struct dram_request *request)
{
    uint64_t clock = request->arrived;

    if (clock > 0)
        dram_run(dram, clock - 1);
    if (dram->clock < clock)
        dram->clock = clock;
    if (dram->queued < dram->queue_most)
        admit(dram, request, clock);
    else
        put_aside(dram, request);
}

uint64_t dram_run(struct dram *dram, uint64_t clock)
{
    for (;;) {
        struct choice choice = choose(dram);

        if (choice.command.clock > clock)
            return dram->queued == 0 ? UINT64_MAX : choice.command.clock;
        issue(dram, &choice);
    }
}
