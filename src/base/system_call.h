/*
 * SPDX-License-Identifier: MIT
 *
 * System calls that are no call of libc's: no point where a thread can be cancelled, and not caught
 * by a library that stands before libc's syscall(), open() and others and takes locks or allocates
 * in them.
 */
#ifndef MPLACE_BASE_SYSTEM_CALL_H
#define MPLACE_BASE_SYSTEM_CALL_H

#include <sys/syscall.h>

/* Returns what the kernel does: a negated errno value on failure. errno stays as it is. */
static inline long system_call_6(long number, long first, long second, long third, long fourth,
                                 long fifth, long sixth)
{
    long result = number;
    register long r10 __asm__("r10") = fourth;
    register long r8 __asm__("r8") = fifth;
    register long r9 __asm__("r9") = sixth;

    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Of those with an address for their second argument and no more than three. */
static inline long system_call(long number, long first, const volatile void *second, long third)
{
    return system_call_6(number, first, (long)second, third, 0, 0, 0);
}

#endif
