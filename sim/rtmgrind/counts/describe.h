/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names for what is reported: causes, code, data, stacks; and how JSON has them.
 */
#ifndef RTMGRIND_DESCRIBE_H
#define RTMGRIND_DESCRIBE_H

#include "rtmgrind/common/transaction_state.h"

const HChar *describe_cause(enum abort_cause cause);
/* Address, function, file and line; good until the next call. */
const HChar *describe_code(Addr instruction);
/* The variable that the address belongs to, if it is known. */
Bool describe_data(Addr data, const HChar **name, PtrdiffT *offset);
/* The address's set in the first-level cache. */
UInt describe_set(Addr data);

/* As a JSON string, with its quotes. */
void describe_write_string(VgFile *file, const HChar *text);
/* As a member of an object, with a comma in front: a list, innermost first. Nothing if NULL. */
void describe_write_stack(VgFile *file, const HChar *key, ExeContext *calls);

#endif
