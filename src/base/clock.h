/*
 * SPDX-License-Identifier: MIT
 *
 * The kernel's clocks, for code that may hold a lock of the program. Calls no function of libc's
 * that another library may replace by one that allocates or locks (libfaketime's clock_gettime).
 */
#ifndef MPLACE_BASE_CLOCK_H
#define MPLACE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * clock_gettime, as fast as libc's: the kernel's own function in the vDSO. A system call where
 * there is none, and under some clock sources: not inside a transaction.
 */
void clock_read(clockid_t clock, struct timespec *now);

/* Whether that is no system call, as far as can be told without one. */
bool clock_is_quick(void);

/* CLOCK_MONOTONIC. */
static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec now;

    clock_read(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
