/*
 * SPDX-License-Identifier: MIT
 *
 * Persistent blocks in the banks of the last level: what the caches tell of them, and the ways that
 * versions have there.
 */
#ifndef CHIP_BANKS_H
#define CHIP_BANKS_H

#include "chip/persistence/protocol.h"

void banks_init(struct persistence *persistence);

/* What is known of a block. NULL: it is not persistent, as far as is known. */
struct block_state *banks_find(const struct persistence *persistence, uint64_t block);

/* The agent that has the block's bank. */
unsigned banks_agent(const struct persistence *persistence, uint64_t block);

/* The version is not in its core's caches yet: a miss for its store is under way. */
bool banks_is_pending(const struct persistence *persistence, const struct write *write);

/* The caches have the version. One that left them and was read again counts as not there. */
bool banks_has(const struct write *write);

/* The newest version of its block, which the core has flushed, leaves the caches. */
void banks_flush(struct persistence *persistence, const struct write *write);

/* A way of its block's set for a version; and no longer. */
void banks_place(struct persistence *persistence, struct write *write);
void banks_release(struct persistence *persistence, struct write *write);

#endif
