/*
 * SPDX-License-Identifier: MIT
 *
 * See decay_policy.h.
 */
#include "cia_malloc/pages/decay_policy.h"

#include "base/clock.h"
#include "base/settings.h"

#include <stdatomic.h>

/* Relaxed: whoever finds a sub-heap has found what was set before it was published. */
static _Atomic int32_t milliseconds = DECAY_DEFAULT;

void decay_read_setting(void)
{
    atomic_store_explicit(
        &milliseconds,
        (int32_t)setting_signed("CIA_DECAY_MS", DECAY_NEVER, DECAY_GREATEST, DECAY_DEFAULT),
        memory_order_relaxed);
}

int32_t decay_milliseconds(void)
{
    return atomic_load_explicit(&milliseconds, memory_order_relaxed);
}

uint64_t decay_clock(void)
{
    struct timespec time = {0};

    /* Where it fails, time stands still and nothing decays. */
    clock_read(CLOCK_MONOTONIC_COARSE, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

bool decay_is_recent(uint64_t moment)
{
    enum { MILLISECONDS = 10 };

    return moment != 0 && decay_clock() - moment < MILLISECONDS;
}

/* How many of the pages that came in the last steps may still be kept. */
static uint32_t kept(const struct decay *decay)
{
    uint64_t sum = 0;

    /* What came a steps ago has a / DECAY_STEPS of its time behind it. */
    for (uint32_t age = 0; age < DECAY_STEPS; age++)
        sum += (uint64_t)decay->added[(decay->step - age) % DECAY_STEPS] * (DECAY_STEPS - age);
    return (uint32_t)(sum / DECAY_STEPS);
}

uint32_t decay_due(struct decay *decay, uint64_t now, uint32_t pages)
{
    int32_t time = decay_milliseconds();

    if (time == DECAY_NEVER)
        return 0;
    if (time == DECAY_AT_ONCE)
        return pages;
    uint64_t length = (uint64_t)time / DECAY_STEPS;
    uint64_t step = now / (length > 0 ? length : 1);

    if (step != decay->step) {
        /* Some are in use again. Not at every call: what comes and goes within a step is not new.
         */
        if (pages < decay->known)
            decay->known = pages;
        /* New pages came in the last step looked at, not in those that passed since. */
        decay->added[decay->step % DECAY_STEPS] += pages - decay->known;
        decay->known = pages;
        for (uint32_t i = 0; i < DECAY_STEPS && decay->step < step; i++)
            decay->added[++decay->step % DECAY_STEPS] = 0;
        decay->step = step;
        uint32_t may_stay = kept(decay);
        decay->due = pages > may_stay ? pages - may_stay : 0;
    }
    return decay->due < pages ? decay->due : pages;
}

void decay_gave_back(struct decay *decay, uint32_t pages)
{
    decay->due -= pages < decay->due ? pages : decay->due;
    decay->known -= pages < decay->known ? pages : decay->known;
}
