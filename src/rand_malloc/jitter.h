/*
 * SPDX-License-Identifier: MIT
 *
 * How many bytes to add to a request. Blocks of one size that follow each other at a distance that
 * is (nearly) a power of two fall on few cache sets; a random distance breaks the pattern.
 */
#ifndef RAND_MALLOC_JITTER_H
#define RAND_MALLOC_JITTER_H

#include <stddef.h>
#include <stdint.h>

enum {
    JITTER_GRAIN = 16, /* extra bytes come in multiples of it: malloc's own alignment */
    JITTER_DEFAULT_PROBABILITY = 100,
    JITTER_DEFAULT_MAX_EXTRA = 64,
    JITTER_DEFAULT_SEED = 1,
    JITTER_GREATEST_MAX_EXTRA = 1 << 20,
};

/* Written once, before the first request that is jittered; all zero means: no jitter. */
struct jitter {
    uint64_t threshold; /* of 2^32: a draw below it gets an extra; 2^32 is always */
    uint32_t max_extra; /* bytes */
    uint64_t probability, seed;
};

/* From RAND_PROBABILITY (percent), RAND_MAX_EXTRA (bytes) and RAND_SEED. */
void jitter_read_settings(struct jitter *jitter);

/* The settings as values; probability 0 to 100. */
void jitter_set(struct jitter *jitter, uint64_t probability, uint64_t max_extra, uint64_t seed);

/* The generator's state for the given thread, counted from 0; never 0. */
uint64_t jitter_thread_state(const struct jitter *jitter, uint64_t thread);

/*
 * The bytes to add to a request of size bytes whose block must begin at a multiple of alignment (a
 * power of two): 0, or a multiple of both alignment and JITTER_GRAIN from that up to max_extra.
 * size plus it never exceeds PTRDIFF_MAX: a request that no allocator grants is not changed.
 */
size_t jitter_extra(const struct jitter *jitter, uint64_t *state, size_t size, size_t alignment);

#endif
