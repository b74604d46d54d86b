/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What values of a block of code were computed from: loads of the block, and general registers as
 * they were at its begin. The writer, which knows when these were loaded, makes of it which loads
 * depend on an earlier one.
 */
#ifndef MEMTRACE_DEPENDENCE_H
#define MEMTRACE_DEPENDENCE_H

#include "memtrace/memtrace.h"
#include "memtrace/wire.h"

struct dependence {
    UInt registers; /* bits by number, as in wire.h */
    Bool is_loaded; /* from a load of the block */
};

/* A new block, with so many temporaries. */
void dependence_begin(UInt temporaries);

/* The statement is executed. */
void dependence_see(const IRSB *block, const IRStmt *statement);

/* What the value of an atom was computed from. */
struct dependence dependence_of(const IRExpr *atom);

/* What registers hold that were written since the block began, or since the last call of this.
 * Returns how many. */
UInt dependence_effects(struct wire_effect effects[WIRE_REGISTERS]);

#endif
