/*
 * SPDX-License-Identifier: MIT
 *
 * Rules of the memory controller that the tests can take out, one at a time, to see that they
 * notice. Only the tests are built with them.
 */
#ifndef CHIP_MEMORY_MUTANTS_H
#define CHIP_MEMORY_MUTANTS_H

enum dram_mutant {
    DRAM_MUTANT_NONE,
    DRAM_MUTANT_RCD_IGNORED,       /* a row is read before it is open */
    DRAM_MUTANT_RP_IGNORED,        /* a bank is activated before it is precharged */
    DRAM_MUTANT_RAS_IGNORED,       /* a bank is precharged early */
    DRAM_MUTANT_RTP_IGNORED,       /* the same, after a read */
    DRAM_MUTANT_WR_IGNORED,        /* the same, after a write */
    DRAM_MUTANT_RRD_IGNORED,       /* banks are activated one a clock */
    DRAM_MUTANT_FAW_IGNORED,       /* more than four banks in the window */
    DRAM_MUTANT_WTR_IGNORED,       /* a read follows a write without the turn-around */
    DRAM_MUTANT_GROUP_IGNORED,     /* all banks are as of different groups */
    DRAM_MUTANT_BUS_IGNORED,       /* data of two bursts meet on the bus */
    DRAM_MUTANT_RFC_IGNORED,       /* a rank is used during its refresh */
    DRAM_MUTANT_REFRESH_FORGOTTEN, /* every fourth refresh is left out */
    DRAM_MUTANT_ROW_NOT_COMPARED,  /* any open row is right */
    DRAM_MUTANT_HITS_FOREVER,      /* row hits pass the oldest request without a bound */
    DRAM_MUTANT_REQUEST_LOST,      /* of two requests of a block, the second is dropped */
    DRAM_MUTANT_OVERTAKEN,         /* requests of a block may pass each other */
    DRAM_MUTANTS
};

#ifdef CHIP_MUTANTS
#define DRAM_MUTANT(timing, which) ((timing)->mutant == DRAM_MUTANT_##which)
#else
#define DRAM_MUTANT(timing, which) ((void)(timing), 0)
#endif

#endif
