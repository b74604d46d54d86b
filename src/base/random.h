/*
 * SPDX-License-Identifier: MIT
 *
 * A small seeded generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), 64 bits of state, period
 * 2^64, any seed good. For jitter, back-off and tests; not for secrets.
 */
#ifndef MPLACE_BASE_RANDOM_H
#define MPLACE_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, bound); bound > 0. Multiply-shift, no divide; bias below 2^-32 for 32-bit bounds.
 */
static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}

#endif
