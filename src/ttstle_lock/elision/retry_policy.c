/*
 * SPDX-License-Identifier: MIT
 *
 * What follows an abort: another attempt, now or after a wait, or the lock. The loop that makes the
 * attempts is enter, in elision.c. See retry_policy.h.
 */
#include "ttstle_lock/elision/retry_policy.h"

#include "base/random.h"
#include "ttstle_lock/rtm/htm_status.h"

enum {
    /* Failures by conflict or by a busy lock that the adaptive policy takes before the lock. */
    ADAPTIVE_FAILURES_MOST = 8,
    BACK_OFF_LEAST = 4, /* PAUSEs: about the length of a short critical section */
    BACK_OFF_DOUBLINGS = 6,
    RANDOM_BACK_OFF_DOUBLINGS = 10, /* attempts have no bound, so their distance has a large one */
};

/*
 * A busy code means the lock at hand only if no nesting is reported. In a nested transaction it is
 * about an inner lock; waiting for this one, which is free, would return at once and start over.
 */
static int was_busy(unsigned status)
{
    return (status & HTM_EXPLICIT) && !(status & HTM_NESTED) &&
           htm_code_of(status) == HTM_CODE_BUSY;
}

/* Capacity first: a conflict beside it will be gone next time, the footprint will not. */
static int was_conflict(unsigned status)
{
    return !(status & (HTM_CAPACITY | HTM_EXPLICIT)) && (status & HTM_CONFLICT);
}

static enum after_abort adaptive(bool busy, unsigned failures)
{
    bool last = failures >= ADAPTIVE_FAILURES_MOST;

    if (busy)
        return last ? TAKE_THIS_TIME : RETRY_ONCE_FREE;
    return last ? TAKE_AND_REMEMBER : RETRY_AFTER_BACK_OFF;
}

enum after_abort retry_policy_after_abort(enum retry_policy policy, unsigned status,
                                          unsigned failures)
{
    if (!was_busy(status) && !was_conflict(status))
        return TAKE_AND_REMEMBER;
    switch (policy) {
    case POLICY_ADAPTIVE:
        return adaptive(was_busy(status), failures);
    case POLICY_BACKOFF:
        return RETRY_AFTER_BACK_OFF;
    case POLICY_HOURGLASS:
        if (failures < HOURGLASS_ABORTS)
            return RETRY_ONCE_FREE;
        return failures < HOURGLASS_ABORTS + HOURGLASS_ABORTS_ALONE ? RETRY_ALONE : TAKE_THIS_TIME;
    case POLICY_SERIALISE:
        return failures < SERIALISE_ABORTS ? RETRY_ONCE_FREE : TAKE_THIS_TIME;
    default:
        return RETRY_ONCE_FREE;
    }
}

unsigned retry_policy_back_off(unsigned failures, unsigned thread)
{
    unsigned doublings = failures < BACK_OFF_DOUBLINGS ? failures : BACK_OFF_DOUBLINGS;
    unsigned span = (unsigned)BACK_OFF_LEAST << doublings;

    /* Multiplying by an odd constant spreads neighbouring ids over the span (Fibonacci hashing). */
    return span + (thread * 2654435769u >> 16) % span;
}

unsigned retry_policy_random_back_off(unsigned failures, unsigned thread, unsigned draw)
{
    unsigned doublings =
        failures < RANDOM_BACK_OFF_DOUBLINGS ? failures : RANDOM_BACK_OFF_DOUBLINGS;
    uint64_t state = (uint64_t)thread << 32 | draw;

    return 1 + random_below(&state, (uint32_t)BACK_OFF_LEAST << doublings);
}

uint16_t memory_after_failure(uint16_t memory)
{
    unsigned level = memory_level(memory);

    if (level < MEMORY_LEVEL_MOST)
        level++;
    else
        level = MEMORY_LEVEL_MOST; /* also from bits that were never ours */
    return (uint16_t)(level << MEMORY_SKIP_BITS | ((1u << (level - 1)) - 1));
}
