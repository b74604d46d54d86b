/*
 * SPDX-License-Identifier: MIT
 *
 * A clock that the test sets: the allocator's coarse one, in place of the function in base/clock.h.
 * Every other clock is the kernel's. Include it in one file of a program.
 */
#ifndef TESTS_UNIT_CIA_CLOCK_H
#define TESTS_UNIT_CIA_CLOCK_H

#include "base/clock.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t clock_milliseconds = 1000000;

void clock_read(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC_COARSE) {
        (void)syscall(SYS_clock_gettime, clock, time);
        return;
    }
    uint64_t now = clock_milliseconds;

    time->tv_sec = (time_t)(now / 1000);
    time->tv_nsec = (long)(now % 1000) * 1000000;
}

bool clock_is_quick(void)
{
    return true;
}

#endif
