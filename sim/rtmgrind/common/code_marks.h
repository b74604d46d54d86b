/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mark in the address of code that has calls before its accesses; variants.h says why.
 */
#ifndef RTMGRIND_CODE_MARKS_H
#define RTMGRIND_CODE_MARKS_H

#include "program_calls/valgrind_api.h"

/* What stands above the 47 bits of a program's addresses. No single bit: a program that jumps to a
 * pointer whose spare bits it used and forgot to clear must fault. */
#define MARK_BITS   ((Addr)0xffff800000000000)
#define HOOKED_MARK ((Addr)0x35ad000000000000)

static inline Addr hooked_address(Addr address)
{
    return address | HOOKED_MARK;
}

static inline Addr unmarked_address(Addr address)
{
    return (address & MARK_BITS) == HOOKED_MARK ? address & ~MARK_BITS : address;
}

#endif
