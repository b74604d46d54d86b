/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Instructions and events that no transaction survives.
 */
#ifndef RTMGRIND_UNFRIENDLY_H
#define RTMGRIND_UNFRIENDLY_H

#include "program_calls/valgrind_api.h"

/* Appends the call that aborts, if the instruction is one of them; before its own IR. */
void unfriendly_before(IRSB *block, const UChar *code, Addr address);

/* What the instruction, or the kind that it is of, is called if a transaction does not survive it;
 * else NULL. */
const HChar *unfriendly_name(const UChar *code);

/* Appends the same where a block ends in a way that the core has to handle, such as a system call.
 * Made only if the guard is true. */
void unfriendly_end(IRSB *block, IRJumpKind jump, IRExpr *guard, Addr address);

#endif
