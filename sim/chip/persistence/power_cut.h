/*
 * SPDX-License-Identifier: MIT
 *
 * Power cuts in a run that is over and was recorded (persistence_record). Each comes in a random
 * cycle: memory is what had persisted, the protocol's recovery runs on it, and what it leaves must
 * be
 *
 *  - the state after some of the committed transactions, with each of them all that its thread
 *    committed before, and all transactions in any thread whose data it read or overwrote,
 *  - among them each that had been acknowledged as durable.
 *
 * Blocks that were stored to outside of transactions are left out: nothing is promised for them.
 */
#ifndef CHIP_POWER_CUT_H
#define CHIP_POWER_CUT_H

#include "chip/persistence/persistence.h"

struct power_cuts {
    uint64_t cuts, findings;
    char first[256]; /* what the first finding is */
};

/* Adds `count` cuts to `result`. */
void power_cuts_run(const struct persistence *persistence, uint64_t count, uint64_t seed,
                    struct power_cuts *result);

#endif
