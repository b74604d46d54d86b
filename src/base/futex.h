/*
 * SPDX-License-Identifier: MIT
 *
 * The futex system call, process-private, as four functions. They do not touch errno and do not
 * go through libc's syscall(): that one is declared never to throw, and a thread cancelled in it
 * would skip its clean-up handlers.
 */
#ifndef MPLACE_BASE_FUTEX_H
#define MPLACE_BASE_FUTEX_H

#include "base/system_call.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

/* Returns 0 or a negated errno value. */
static inline int futex_call(int *word, int operation, int value, const struct timespec *timeout,
                             unsigned bits)
{
    return (int)system_call_6(SYS_futex, (long)word, operation, value, (long)timeout, 0,
                              (long)bits);
}

/*
 * Sleeps while *word is value. Returns after a wake, a signal, for no reason at all, or at once
 * when *word is something else: the caller looks again in every case.
 */
static inline void futex_wait(int *word, int value)
{
    (void)futex_call(word, FUTEX_WAIT_PRIVATE, value, NULL, 0);
}

/*
 * The same, at the latest until the absolute deadline on CLOCK_REALTIME or CLOCK_MONOTONIC; a
 * deadline of valid nanoseconds and not before 1970. Returns ETIMEDOUT negated when it has passed.
 */
static inline int futex_wait_until(int *word, int value, clockid_t clock,
                                   const struct timespec *deadline)
{
    int operation = FUTEX_WAIT_BITSET_PRIVATE;

    if (clock == CLOCK_REALTIME)
        operation |= FUTEX_CLOCK_REALTIME;
    return futex_call(word, operation, value, deadline, FUTEX_BITSET_MATCH_ANY);
}

/* Wakes one sleeper, if any. The address is only a name here: its memory may be gone already. */
static inline void futex_wake_one(int *word)
{
    (void)futex_call(word, FUTEX_WAKE_PRIVATE, 1, NULL, 0);
}

/* Wakes all sleepers. */
static inline void futex_wake_all(int *word)
{
    (void)futex_call(word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, 0);
}

#endif
