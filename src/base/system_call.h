/*
 * SPDX-License-Identifier: MIT
 *
 * System calls that are no call of libc's: no point where a thread can be cancelled, and not caught
 * by a library that stands before libc's syscall() and takes locks or allocates in it.
 */
#ifndef MPLACE_BASE_SYSTEM_CALL_H
#define MPLACE_BASE_SYSTEM_CALL_H

#include <sys/syscall.h>

/* Returns what the kernel does: a negated errno value on failure. errno stays as it is. */
static inline long system_call(long number, long first, const volatile void *second, long third)
{
    long result = number;

    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
