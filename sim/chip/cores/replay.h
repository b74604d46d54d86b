/*
 * SPDX-License-Identifier: MIT
 *
 * One event of a thread on its core, and what core.c shares with it.
 */
#ifndef CHIP_REPLAY_H
#define CHIP_REPLAY_H

#include "chip/cores/core.h"

/* Replays the thread's event. False: the core is stalled or the thread blocked; the event stays. */
bool core_replay(struct cores *cores, unsigned number, struct thread *thread);

/* The thread of that number may go on, no earlier than what it waited for was done
   (cores->released). context: the cores. */
void core_unblock(void *context, uint32_t number);

/* The core does nothing until a miss is over. False, for its caller to return. */
static inline bool core_stall(struct core *core)
{
    core->stalled = true;
    return false;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The block that the program's address is in; programs do not share blocks. */
static inline uint64_t core_block_of(const struct cores *cores, uint32_t program, uint64_t address)
{
    enum { PROGRAM_SHIFT = 48 };

    return address >> __builtin_ctz(cores->fabric.machine->block) | (uint64_t)program
                                                                        << PROGRAM_SHIFT;
}

#endif
