/*
 * SPDX-License-Identifier: MIT
 *
 * What a home does for protocols that ask the home first (sparse, flask): it serves one request of
 * a block at a time, from its arrival until the requester's unblock and the answers of all cores
 * that it asked.
 *
 * The order of messages between two agents is kept. So a core that answers "I have nothing" has no
 * tokens on their way either: what it gave back came before the answer. When all cores have
 * answered so, and the home has nothing, the block is in memory.
 */
#ifndef CHIP_TRANSACTIONS_H
#define CHIP_TRANSACTIONS_H

#include "chip/coherence/home.h"

/* A message comes to the home, which takes it. */
void transactions_receive(struct fabric *fabric, struct home *home, struct message *message);

/* All tokens of a block come home, for its entry leaves the directory. */
void transactions_recall(struct home *home, uint64_t block, uint64_t sharers, unsigned requester);

/* A place for a version of the block, under this tag, in a way of the block's set. */
struct line *transactions_place(struct home *home, uint64_t block, uint64_t tag, unsigned core);

#endif
