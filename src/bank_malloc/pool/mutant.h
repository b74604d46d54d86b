/*
 * SPDX-License-Identifier: MIT
 *
 * Rules that the tests of the pool take out one at a time, to see that they notice. Without
 * BANK_POOL_MUTANTS, as in the library, none can be taken out, and no code asks.
 */
#ifndef MPLACE_BANK_MUTANT_H
#define MPLACE_BANK_MUTANT_H

enum pool_mutant {
    MUTANT_NONE,
    MUTANT_LEAST_FREE_BANK,        /* a fall-back takes not the bank with most free memory */
    MUTANT_CONTROLLERS_BY_NUMBER,  /* controllers are not in the order of free memory */
    MUTANT_ALWAYS_MOVABLE,         /* scattered chunks for a block that cannot have them */
    MUTANT_CONTROLLER_KEEPS_COUNT, /* of a chunk that was taken */
    MUTANT_SPLIT_UNASKED,          /* a run though the mode is not in the mask */
    MUTANT_EXACT_RUN_UNSEEN,       /* a run as long as the block is passed over */
    MUTANTS
};

#ifdef BANK_POOL_MUTANTS
extern enum pool_mutant pool_mutant;
#define MUTANT(name) (pool_mutant == MUTANT_##name)
#else
#define MUTANT(name) 0
#endif

#endif
