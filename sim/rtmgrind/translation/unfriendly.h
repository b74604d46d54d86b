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

/* What an instruction is called for which unfriendly_before made a call. */
const HChar *unfriendly_name(const UChar *code);

/* Appends the same where a block ends in a way that the core has to handle, such as a system call.
 * Made only if the guard is true. */
void unfriendly_end(IRSB *block, IRJumpKind jump, IRExpr *guard, Addr address);

#endif
