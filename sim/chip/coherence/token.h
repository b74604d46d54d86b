/*
 * SPDX-License-Identifier: MIT
 *
 * TokenB (Martin, Hill and Wood, ISCA 2003): a miss asks everybody at once, and who has tokens
 * sends them. Nobody serialises requests, so two may take tokens from each other; one that is not
 * satisfied in time is made again, and then becomes persistent: its home activates one persistent
 * request of a block after the other, and all agents send what they have, and what comes to them,
 * to the one that is active. Memory counts the tokens that it has, and reads a block only with the
 * owner token.
 */
#ifndef CHIP_TOKEN_H
#define CHIP_TOKEN_H

#include "chip/coherence/home.h"

/* False: out of memory. */
bool token_init(struct fabric *fabric);
void token_destroy(struct fabric *fabric);

void token_request(struct fabric *fabric, unsigned core, struct mshr *mshr, uint64_t time);
void token_satisfied(struct fabric *fabric, unsigned core, struct mshr *mshr);
void token_at_core(struct fabric *fabric, unsigned core, struct message *message);
void token_at_home(struct fabric *fabric, struct home *home, struct message *message);
void token_at_memory(struct fabric *fabric, unsigned controller, struct message *message);

/* What memory has of the block. */
unsigned token_in_memory(const struct fabric *fabric, uint64_t block, bool *owner);

#endif
