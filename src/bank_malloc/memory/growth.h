/*
 * SPDX-License-Identifier: MIT
 *
 * How the pool grows: chunks without memory get some, and what colour each has.
 *
 * Every function is called with arena.lock held.
 */
#ifndef MPLACE_BANK_GROWTH_H
#define MPLACE_BANK_GROWTH_H

#include "bank_malloc/memory/arena.h"

/* Gets memory for up to that many chunks more; returns how many it got, of whatever colours. */
uint32_t arena_grow(uint32_t chunks);

/* How many it may get more. */
uint32_t arena_room(void);

#endif
