/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * XBEGIN, XEND, XABORT and XTEST: recognised as bytes, written as IR, carried out by helpers.
 */
#ifndef RTMGRIND_RTM_INSTRUCTIONS_H
#define RTMGRIND_RTM_INSTRUCTIONS_H

#include "program_calls/core_internals.h"

enum rtm_operation {
    RTM_NONE,
    RTM_XBEGIN,
    RTM_XEND,
    RTM_XABORT,
    RTM_XTEST,
    RTM_UNDEFINED, /* XEND or XTEST but for a prefix that they do not take; VEX would overlook it */
    RTM_TOO_LONG,  /* one of the four with so many prefixes that it is longer than instructions are
                    */
};

struct rtm_instruction {
    enum rtm_operation operation;
    UInt length;
    Long operand; /* XBEGIN: distance from the next instruction; XABORT: the code */
};

/* What the bytes are: RTM_NONE if another instruction. */
struct rtm_instruction rtm_recognise(const UChar *code);

/* Appends its IR. */
struct decoded rtm_emit(IRSB *block, const struct rtm_instruction *instruction, Addr address);

#endif
