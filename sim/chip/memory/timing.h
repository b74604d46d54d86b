/*
 * SPDX-License-Identifier: MIT
 *
 * When the chips behind a controller may be given a command. All times are in memory clocks; what
 * they may be is checked when the machine is read (machine/check.c).
 *
 * Each rule of the standards (JESD79-2F, -3F, -4, -5) says how long after one command another one
 * may follow. A command sets, where it is issued, the earliest clock of those that it delays: of
 * its bank, its bank group, its rank, or the data bus.
 */
#ifndef CHIP_TIMING_H
#define CHIP_TIMING_H

#include "chip/machine/machine.h"
#include "chip/memory/mutants.h"

enum dram_kind { DRAM_ACTIVATE, DRAM_PRECHARGE, DRAM_READ, DRAM_WRITE, DRAM_REFRESH };

struct dram_command {
    uint64_t clock, row;
    uint8_t kind; /* enum dram_kind */
    uint8_t rank, bank;
};

struct timing_bank {
    uint64_t row;
    bool open;
    uint64_t activate, precharge, column; /* not before */
};

struct timing_group {
    uint64_t activate, read, write; /* not before */
};

struct timing_rank {
    struct timing_group all, *groups; /* by any bank; by one of the group */
    struct timing_bank *banks;
    uint64_t fifth[4]; /* of the last four activates, the clock plus tFAW */
    unsigned oldest;   /* of them */
};

struct timing {
    uint32_t ranks, banks, groups;
    /* The values of the machine, with those of a group filled in. */
    uint32_t tCL, tCWL, tRCD, tRP, tRAS, tRC, tRRD, tRRD_L, tFAW, tWR, tWTR, tWTR_L, tRTP;
    uint32_t tCCD, tCCD_L, tCCD_L_WR, tRTRS, tRFC;
    uint32_t data; /* clocks of a burst on the data bus */
    struct timing_rank *rank;
    uint64_t bus_free; /* the end of the last burst (0: none yet), */
    uint32_t bus_rank; /* and whose it was */
    bool bus_write;
    enum dram_mutant mutant; /* tests: a rule taken out */
};

/* False: out of memory. */
bool timing_init(struct timing *timing, const struct machine *machine);
void timing_destroy(struct timing *timing);

/* The earliest clocks; the row has to be open, or the bank closed, as the command needs it. */
uint64_t timing_activate(const struct timing *timing, unsigned rank, unsigned bank);
uint64_t timing_precharge(const struct timing *timing, unsigned rank, unsigned bank);
uint64_t timing_column(const struct timing *timing, unsigned rank, unsigned bank, bool write);
uint64_t timing_refresh(const struct timing *timing, unsigned rank);

/* The command is issued: no earlier than that. */
void timing_issue(struct timing *timing, const struct dram_command *command);

/* When the data of a read or write have been on the bus. */
static inline uint64_t timing_data_end(const struct timing *timing, uint64_t clock, bool write)
{
    return clock + (write ? timing->tCWL : timing->tCL) + timing->data;
}

#endif
