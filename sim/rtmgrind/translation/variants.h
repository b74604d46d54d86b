/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two translations of every piece of code: a plain one, which is the code of a tool that does
 * nothing, and one with a call before every access to memory. No plain code runs while any
 * transaction is active.
 *
 * The core finds translations by guest address, and addresses of programs have their upper bits
 * clear: so the other one is filed under the address with a mark there. Marked code goes on to
 * marked addresses. The running thread changes from one kind to the other
 *   - at XBEGIN, which alone makes the number of transactions grow: it ends its block, and goes on
 *     to a marked address;
 *   - where it enters translated code: other threads ran meanwhile (dispatch.c);
 *   - back to plain code wherever a hooked block goes to an address that it computes, for instance
 *     by a return, or behind XEND: transactions_mark is added to such an address without a carry.
 *     Jumps to fixed addresses stay hooked, for blocks are tied together there; that is right,
 *     only slower, and does not last: no thread goes on without leaving translated code.
 *
 * A marked address must not be seen: not by the program (dispatch.c takes the mark off when a
 * thread leaves translated code, kernel.c before a signal handler can look), not by the core where
 * it may raise a fault (variants.c) and not by the code itself (instrument.c).
 */
#ifndef RTMGRIND_VARIANTS_H
#define RTMGRIND_VARIANTS_H

#include "rtmgrind/common/code_marks.h"

enum variant {
    VARIANT_PLAIN,  /* no calls */
    VARIANT_HOOKED, /* calls before all accesses */
    VARIANT_GUARDED /* calls that are made if a transaction was active at the block's start: for
                     * code that the core runs once and does not file by address */
};

/* What is being translated now. */
extern enum variant variant_now;

#endif
