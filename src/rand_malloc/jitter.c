/*
 * SPDX-License-Identifier: MIT
 *
 * The jitter; see jitter.h and "How RAND chooses its extra" in docs/internals.md for the defaults.
 */
#include "rand_malloc/jitter.h"

#include "base/random.h"
#include "base/settings.h"

void jitter_set(struct jitter *jitter, uint64_t probability, uint64_t max_extra, uint64_t seed)
{
    jitter->probability = probability;
    jitter->seed = seed;
    jitter->max_extra = (uint32_t)max_extra;
    jitter->threshold = (probability << 32) / 100;
}

void jitter_read_settings(struct jitter *jitter)
{
    uint64_t probability = setting_number("RAND_PROBABILITY", 0, 100, JITTER_DEFAULT_PROBABILITY);
    uint64_t max_extra =
        setting_number("RAND_MAX_EXTRA", 0, JITTER_GREATEST_MAX_EXTRA, JITTER_DEFAULT_MAX_EXTRA);

    jitter_set(jitter, probability, max_extra,
               setting_number("RAND_SEED", 0, UINT64_MAX, JITTER_DEFAULT_SEED));
}

uint64_t jitter_thread_state(const struct jitter *jitter, uint64_t thread)
{
    uint64_t state = jitter->seed;
    /* Two rounds: neighbouring seeds and neighbouring threads must not share a stretch of numbers.
     */
    uint64_t mixed = random_next(&state) + thread;

    mixed = random_next(&mixed);
    return mixed != 0 ? mixed : 1; /* 0 marks a thread without a state */
}

size_t jitter_extra(const struct jitter *jitter, uint64_t *state, size_t size, size_t alignment)
{
    size_t step = alignment > JITTER_GRAIN ? alignment : JITTER_GRAIN;

    if (step > jitter->max_extra || size > (size_t)PTRDIFF_MAX - jitter->max_extra)
        return 0;
    /* One number serves both draws: its upper half decides whether, its lower half how much. */
    uint64_t number = random_next(state);
    if ((number >> 32) >= jitter->threshold)
        return 0;
    unsigned shift = (unsigned)__builtin_ctzl(step);
    uint64_t steps = jitter->max_extra >> shift;
    uint64_t chosen = 1 + (((number & 0xffffffffu) * steps) >> 32);
    return (size_t)chosen << shift;
}
