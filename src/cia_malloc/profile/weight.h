/*
 * SPDX-License-Identifier: MIT
 *
 * The arithmetic of sampling by bytes. Points fall on the bytes that a thread allocates as a
 * Poisson process does, one in an interval on average, and an allocation with a point in it is
 * sampled. An allocation of n bytes counts as n + 1, so that one of none may be sampled. It is
 * sampled with probability 1 - exp(-(n + 1) / interval) and stands for one over that.
 */
#ifndef MPLACE_CIA_PROFILE_WEIGHT_H
#define MPLACE_CIA_PROFILE_WEIGHT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes until the next point: exponentially distributed. 0 for an interval of 1: every allocation
   is sampled. */
uint64_t weight_draw(uint64_t *random, uint64_t interval);

/* How many allocations of so many bytes a sampled one stands for. 1 for an interval of 1. */
double weight_of(size_t bytes, uint64_t interval);

#endif
