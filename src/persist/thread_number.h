/*
 * SPDX-License-Identifier: MIT
 *
 * Who commits: the paper's CID and TID, 12 bits each. Recovery does not need them, since commits
 * are numbered over all threads; a person who reads a log does.
 */
#ifndef MPLACE_PERSIST_THREAD_NUMBER_H
#define MPLACE_PERSIST_THREAD_NUMBER_H

#include "persist/format.h"

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

/* The CPU that the thread runs on, 0 where the kernel does not say. */
static inline uint64_t thread_number_cpu(void)
{
    int cpu = sched_getcpu();

    return cpu < 0 ? 0 : (uint64_t)cpu & ID_MASK;
}

/* The low bits of the thread's id; the child of a fork may have its parent's. */
static inline uint64_t thread_number(void)
{
    static __thread uint64_t number;

    if (number == 0)
        number = ((uint64_t)gettid() & ID_MASK) | (UINT64_C(1) << 63);
    return number & ID_MASK;
}

#endif
