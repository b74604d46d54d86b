/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The one source of chance: xorshift64* (Vigna 2014), from --seed.
 */
#ifndef VIRTUAL_PROCESSORS_RANDOM_H
#define VIRTUAL_PROCESSORS_RANDOM_H

#include "program_calls/valgrind_api.h"

static inline ULong random_next(ULong *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

/* The generator must not start at 0; near seeds must not give near sequences. */
static inline ULong random_start(ULong seed)
{
    ULong state = (seed + 1) * 0x9E3779B97F4A7C15ULL;

    state = state == 0 ? 1 : state;
    (void)random_next(&state);
    return state;
}

/* 0 to bound - 1. */
static inline UInt random_below(ULong *state, UInt bound)
{
    return (UInt)(((random_next(state) >> 32) * bound) >> 32);
}

/* 1 to 2 * mean - 1, all alike. */
static inline UInt random_around(ULong *state, UInt mean)
{
    return 1 + random_below(state, 2 * mean - 1);
}

#endif
