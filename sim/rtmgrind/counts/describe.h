/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names for what is reported: causes, code, data, stacks; and how JSON has them.
 */
#ifndef RTMGRIND_DESCRIBE_H
#define RTMGRIND_DESCRIBE_H

#include "program_calls/output.h"
#include "rtmgrind/common/transaction_state.h"

const HChar *describe_cause(enum abort_cause cause);
/* Address, function, file and line; good until the next call. */
const HChar *describe_code(Addr instruction);
/* The variable that the address belongs to, if it is known. */
Bool describe_data(Addr data, const HChar **name, PtrdiffT *offset);
/* The address's set in the first-level cache. */
UInt describe_set(Addr data);

/* As a JSON string, with its quotes. */
void describe_write_string(struct output *file, const HChar *text);
/* As a member of an object, with a comma in front: a list, innermost first. Nothing if NULL. */
void describe_write_stack(struct output *file, const HChar *key, ExeContext *calls);

/* As two members, with a comma in front: `key`, as above, from the innermost function on that is
 * neither of the C or C++ library nor of the lock library, with inlined functions; and "through",
 * the name of the function that it called there, if that is known. */
void describe_write_place(struct output *file, const HChar *key, ExeContext *calls);

/* As a member, with a comma in front: a list, functions inlined there first, each with file and
 * line; without debug information the object and the address in it. Nothing of 0. */
void describe_write_code(struct output *file, const HChar *key, Addr instruction);

/* Of an address in an object's own data: the object, and the address as it is in the file. */
Bool describe_static_data(Addr data, const HChar **object, Addr *offset);

/* Whether the innermost function of these was called by one of the C library or its linker. */
Bool describe_is_called_by_c_library(ExeContext *calls);

/* The name of a system call, or NULL. */
const HChar *describe_system_call(UInt number);

#endif
