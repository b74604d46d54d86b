/*
 * SPDX-License-Identifier: MIT
 *
 * What the private caches of a core answer to a home, for the protocols that ask the home first.
 */
#ifndef CHIP_RESPONDER_H
#define CHIP_RESPONDER_H

#include "chip/coherence/fabric.h"

/* A miss goes to the block's home. */
void responder_request(struct fabric *fabric, unsigned core, struct mshr *mshr, uint64_t time);

/* The miss has what it needs: the home may serve the next one. */
void responder_satisfied(struct fabric *fabric, unsigned core, struct mshr *mshr);

void responder_receive(struct fabric *fabric, unsigned core, struct message *message);

/* The controller gives a block with all tokens, or takes data. */
void responder_memory(struct fabric *fabric, unsigned controller, struct message *message);

#endif
