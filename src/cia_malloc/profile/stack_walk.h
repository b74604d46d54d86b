/*
 * SPDX-License-Identifier: MIT
 *
 * Walks a stack, with or without frame pointers. Three ways, tried in this order:
 *   known lengths        where each frame's length is known from the tables, by its return address:
 *                        some 5 ns a frame
 *   tables               libgcc's _Unwind_Backtrace: some 150 ns a frame, and the lengths are known
 *   frame pointers       where the tables end before them: code that a program generates
 * Nothing here allocates or locks. No address is read that was not found readable.
 */
#ifndef MPLACE_CIA_PROFILE_STACK_WALK_H
#define MPLACE_CIA_PROFILE_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum { STACK_MOST = 128 };

struct stack_walk {
    uint32_t depth;
    uintptr_t address[STACK_MOST]; /* return addresses; above STACK_MOST the outermost are cut */
};

/* Loads libgcc_s and calls it once, so that no later call initialises anything. Allocates: for the
   constructor. */
void stack_walk_start(void);

/* frame: __builtin_frame_address(0) of the caller or of a function that called it. The first
   address is where that function returns to. */
void stack_walk(const void *frame, struct stack_walk *walk);

#endif
