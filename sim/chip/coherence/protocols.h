/*
 * SPDX-License-Identifier: MIT
 *
 * The protocols by name, and the step of the simulation: one event goes to its agent.
 */
#ifndef CHIP_PROTOCOLS_H
#define CHIP_PROTOCOLS_H

#include "chip/coherence/fabric.h"

/* Makes a fabric with homes for the machine's protocol. False: out of memory. */
bool protocols_init(struct fabric *fabric, const struct machine *machine, bool check);
void protocols_destroy(struct fabric *fabric);

/*
 * Takes the next event. A WAKE is handed to the caller as the number of its core in *woken, which
 * is -1 after all others. False: there is no event left.
 */
bool protocols_step(struct fabric *fabric, int *woken);

/* A WAKE for a core. */
void protocols_wake(struct fabric *fabric, unsigned core, uint64_t time);

#endif
