/*
 * SPDX-License-Identifier: MIT
 *
 * The benchmarks' seeded generator: SplitMix64. Any seed is good; the same seed gives the same run.
 */
#ifndef BENCH_HARNESS_RANDOM_H
#define BENCH_HARNESS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, bound), bound from 1; multiply-shift, bias below bound / 2^64. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)random_next(state) * bound) >> 64);
}

#endif
