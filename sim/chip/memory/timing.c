/*
 * SPDX-License-Identifier: MIT
 *
 * When a command may follow; see timing.h.
 */
#include "chip/memory/timing.h"

#include <stdlib.h>

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void delay(uint64_t *not_before, uint64_t clock)
{
    *not_before = later(*not_before, clock);
}

static uint32_t or_else(uint32_t value, uint32_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static struct timing_group *group_of(const struct timing *timing, unsigned rank, unsigned bank)
{
    return &timing->rank[rank].groups[bank & (timing->groups - 1)];
}

bool timing_init(struct timing *timing, const struct machine *machine)
{
    uint32_t ranks = machine->memory.ranks, banks = machine->memory.banks;

    *timing = (struct timing){
        .ranks = ranks,
        .banks = banks,
        .groups = machine->memory.bank_groups,
        .tCL = machine->memory.tCL,
        .tCWL = machine->memory.tCWL,
        .tRCD = machine->memory.tRCD,
        .tRP = machine->memory.tRP,
        .tRAS = machine->memory.tRAS,
        .tRC = machine->memory.tRC,
        .tRRD = machine->memory.tRRD,
        .tRRD_L = or_else(machine->memory.tRRD_L, machine->memory.tRRD),
        .tFAW = machine->memory.tFAW,
        .tWR = machine->memory.tWR,
        .tWTR = machine->memory.tWTR,
        .tWTR_L = or_else(machine->memory.tWTR_L, machine->memory.tWTR),
        .tRTP = machine->memory.tRTP,
        .tCCD = machine->memory.tCCD,
        .tCCD_L = or_else(machine->memory.tCCD_L, machine->memory.tCCD),
        .tRTRS = machine->memory.tRTRS,
        .tRFC = machine->memory.tRFC,
        .data = machine->memory.burst / 2,
    };
    timing->tCCD_L_WR = or_else(machine->memory.tCCD_L_WR, timing->tCCD_L);
    timing->rank = calloc(ranks, sizeof *timing->rank);
    for (uint32_t i = 0; timing->rank != NULL && i < ranks; i++) {
        timing->rank[i].groups = calloc(timing->groups, sizeof *timing->rank[i].groups);
        timing->rank[i].banks = calloc(banks, sizeof *timing->rank[i].banks);
        if (timing->rank[i].groups == NULL || timing->rank[i].banks == NULL)
            return false;
    }
    return timing->rank != NULL;
}

void timing_destroy(struct timing *timing)
{
    for (uint32_t i = 0; timing->rank != NULL && i < timing->ranks; i++) {
        free(timing->rank[i].groups);
        free(timing->rank[i].banks);
    }
    free(timing->rank);
}

uint64_t timing_activate(const struct timing *timing, unsigned rank, unsigned bank)
{
    const struct timing_rank *of = &timing->rank[rank];
    uint64_t clock = of->banks[bank].activate;

    if (!DRAM_MUTANT(timing, RRD_IGNORED))
        clock = later(clock, later(of->all.activate, group_of(timing, rank, bank)->activate));
    if (!DRAM_MUTANT(timing, FAW_IGNORED))
        clock = later(clock, of->fifth[of->oldest]);
    return clock;
}

uint64_t timing_precharge(const struct timing *timing, unsigned rank, unsigned bank)
{
    return timing->rank[rank].banks[bank].precharge;
}

uint64_t timing_column(const struct timing *timing, unsigned rank, unsigned bank, bool write)
{
    const struct timing_rank *of = &timing->rank[rank];
    const struct timing_group *group = group_of(timing, rank, bank);
    uint32_t latency = write ? timing->tCWL : timing->tCL;
    uint64_t clock = of->banks[bank].column, bus = timing->bus_free;

    clock = later(clock, write ? of->all.write : of->all.read);
    if (!DRAM_MUTANT(timing, GROUP_IGNORED))
        clock = later(clock, write ? group->write : group->read);
    if (bus != 0 && (rank != timing->bus_rank || write != timing->bus_write))
        bus += timing->tRTRS;
    if (bus > latency && !DRAM_MUTANT(timing, BUS_IGNORED))
        clock = later(clock, bus - latency);
    return clock;
}

uint64_t timing_refresh(const struct timing *timing, unsigned rank)
{
    uint64_t clock = 0;

    for (uint32_t i = 0; i < timing->banks; i++)
        clock = later(clock, timing->rank[rank].banks[i].activate);
    return clock;
}

static void activate(struct timing *timing, const struct dram_command *command)
{
    struct timing_rank *rank = &timing->rank[command->rank];
    struct timing_bank *bank = &rank->banks[command->bank];
    uint64_t clock = command->clock;

    bank->open = true;
    bank->row = command->row;
    if (!DRAM_MUTANT(timing, RCD_IGNORED))
        delay(&bank->column, clock + timing->tRCD);
    if (!DRAM_MUTANT(timing, RAS_IGNORED))
        delay(&bank->precharge, clock + timing->tRAS);
    delay(&bank->activate, clock + timing->tRC);
    delay(&rank->all.activate, clock + timing->tRRD);
    delay(&group_of(timing, command->rank, command->bank)->activate, clock + timing->tRRD_L);
    rank->fifth[rank->oldest] = clock + timing->tFAW;
    rank->oldest = (rank->oldest + 1) % 4;
}

static void column(struct timing *timing, const struct dram_command *command)
{
    struct timing_rank *rank = &timing->rank[command->rank];
    struct timing_bank *bank = &rank->banks[command->bank];
    struct timing_group *group = group_of(timing, command->rank, command->bank);
    uint64_t clock = command->clock;
    bool write = command->kind == DRAM_WRITE;
    uint64_t end = timing_data_end(timing, clock, write);

    delay(&rank->all.read, clock + timing->tCCD);
    delay(&rank->all.write, clock + timing->tCCD);
    if (write) {
        delay(&group->write, clock + timing->tCCD_L_WR);
        if (!DRAM_MUTANT(timing, WTR_IGNORED)) {
            delay(&rank->all.read, end + timing->tWTR);
            delay(&group->read, end + timing->tWTR_L);
        }
        if (!DRAM_MUTANT(timing, WR_IGNORED))
            delay(&bank->precharge, end + timing->tWR);
    } else {
        delay(&group->read, clock + timing->tCCD_L);
        if (!DRAM_MUTANT(timing, RTP_IGNORED))
            delay(&bank->precharge, clock + timing->tRTP);
    }
    timing->bus_free = end;
    timing->bus_rank = command->rank;
    timing->bus_write = write;
}

void timing_issue(struct timing *timing, const struct dram_command *command)
{
    struct timing_rank *rank = &timing->rank[command->rank];

    switch (command->kind) {
    case DRAM_ACTIVATE:
        activate(timing, command);
        break;
    case DRAM_PRECHARGE:
        rank->banks[command->bank].open = false;
        if (!DRAM_MUTANT(timing, RP_IGNORED))
            delay(&rank->banks[command->bank].activate, command->clock + timing->tRP);
        break;
    case DRAM_REFRESH:
        for (uint32_t i = 0; i < timing->banks && !DRAM_MUTANT(timing, RFC_IGNORED); i++)
            delay(&rank->banks[i].activate, command->clock + timing->tRFC);
        break;
    default:
        column(timing, command);
    }
}
