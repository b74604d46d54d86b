/*
 * SPDX-License-Identifier: MIT
 *
 * How long a waiter looks at a held lock before it sleeps, learned lock by lock.
 *
 * To sleep and be woken costs two system calls, a switch there and back and often an idle CPU's
 * start: several microseconds. Looking for about as long as that before sleeping is never much
 * worse than having slept at once, and where sections are short it saves all of it. But a lock that
 * is held across a system call, or by threads that outnumber the CPUs, is not free in time, and
 * every look is CPU time taken from somebody. So each lock remembers how its waiters fared, a mutex
 * in glibc's __spins, a rwlock in the padding of glibc's:
 *
 *   bits 0 to 3    level: a wait looks for SPIN_BUDGET_FULL >> level PAUSEs
 *   bits 4 to 15   failed waits since the last one that was not
 *
 * A failed wait costs one level, a successful one gives two back: spinning is worth while as long
 * as it spares one sleep in three. On the shallow levels only a lock held for very short shows that
 * it has become quick again, so after SPIN_BUDGET_PROBE failed waits one spins for the full
 * length; if that succeeds, the level is reset. Without this a lock whose waiters were all asleep
 * once, because its holder had lost its CPU, might never get out of sleeping and waking again.
 *
 * A fresh mutex has 0 there, which is the full budget. All of it is a hint, written without order
 * by waiters: any value is a valid one and a lost update costs one wait too long or too short.
 */
#ifndef MPLACE_TTS_SPIN_BUDGET_H
#define MPLACE_TTS_SPIN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* PAUSEs: some 8000 cycles on Zen, 28000 on Intel since Skylake. */
    SPIN_BUDGET_FULL = 200,
    SPIN_BUDGET_LEVEL_BITS = 4,
    SPIN_BUDGET_LEVEL_MOST = 5, /* 6 PAUSEs: one failed hand-over between running threads */
    SPIN_BUDGET_PROBE = 8,
};

static inline unsigned spin_budget_level(uint16_t memory)
{
    unsigned level = memory & ((1u << SPIN_BUDGET_LEVEL_BITS) - 1);

    return level < SPIN_BUDGET_LEVEL_MOST ? level
                                          : SPIN_BUDGET_LEVEL_MOST; /* also of foreign bits */
}

static inline unsigned spin_budget_failed_waits(uint16_t memory)
{
    return memory >> SPIN_BUDGET_LEVEL_BITS;
}

static inline bool spin_budget_probes(uint16_t memory)
{
    return spin_budget_failed_waits(memory) >= SPIN_BUDGET_PROBE;
}

static inline unsigned spin_budget_pauses(uint16_t memory)
{
    return spin_budget_probes(memory) ? SPIN_BUDGET_FULL
                                      : SPIN_BUDGET_FULL >> spin_budget_level(memory);
}

static inline uint16_t spin_budget_after_success(uint16_t memory)
{
    unsigned level = spin_budget_level(memory);

    return spin_budget_probes(memory) || level < 2 ? 0 : (uint16_t)(level - 2);
}

static inline uint16_t spin_budget_after_failure(uint16_t memory)
{
    unsigned level = spin_budget_level(memory);
    unsigned failed = spin_budget_failed_waits(memory);

    if (level < SPIN_BUDGET_LEVEL_MOST)
        level++;
    failed = spin_budget_probes(memory) ? 0 : failed + 1;
    return (uint16_t)(failed << SPIN_BUDGET_LEVEL_BITS | level);
}

#endif
