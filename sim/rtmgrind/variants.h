/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two translations of every piece of code: a plain one, which runs at the speed of code without a
 * tool, and one with a call before every access to memory.
 *
 * The plain one begins by looking whether any transaction is active, and goes to the other one
 * then. The core finds translations by guest address, and addresses of programs have their upper
 * bits clear: so the other one is filed under the address with a mark there. It ends by going to
 * plain addresses like any code. Thus each block decides anew, at the price of a load, a test and
 * a jump; a block cannot decide wrongly later on, because XBEGIN, which alone makes the number of
 * transactions grow, ends its block.
 *
 * A marked address must not be seen: not by the program (dispatch.c takes the mark off when a
 * thread leaves translated code, kernel.c before a signal handler can look) and not by the code
 * itself (instrument.c).
 */
#ifndef RTMGRIND_VARIANTS_H
#define RTMGRIND_VARIANTS_H

#include "valgrind_api.h"

enum variant {
    VARIANT_PLAIN,  /* no calls; goes to the hooked one where a transaction is active */
    VARIANT_HOOKED, /* calls before all accesses */
    VARIANT_GUARDED /* calls that are made if a transaction was active at the block's start: for
                     * code that the core runs once and does not file by address */
};

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

/* What is being translated now. */
extern enum variant variant_now;

#endif
