/*
 * SPDX-License-Identifier: MIT
 *
 * The stack of a call of the malloc family, each different one kept once. Nothing here allocates
 * from the heap or locks.
 */
#ifndef MPLACE_CIA_PROFILE_STACKS_H
#define MPLACE_CIA_PROFILE_STACKS_H

#include <stdint.h>

struct stack {
    struct stack *next; /* of the same hash */
    uint64_t hash;
    uint32_t depth;
    uintptr_t address[]; /* return addresses, the caller of malloc first */
};

/* For the constructor, see stack_walk.h. */
void stacks_start(void);

/* frame: __builtin_frame_address(0) of a function of this library. NULL when out of memory. */
const struct stack *stack_of_call(const void *frame);

/* The next one after it, in no order; NULL: the first, and at the end. */
const struct stack *stack_next(const struct stack *stack);

#endif
