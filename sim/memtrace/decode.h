/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Before VEX optimises: flushes of lines become hints.
 */
#ifndef MEMTRACE_DECODE_H
#define MEMTRACE_DECODE_H

#include "memtrace/memtrace.h"

/* Where a hint says that code goes next; no code can be there. */
#define DECODE_FLUSH_MARK 0xfeed00000000f100ULL

/* The flush that a statement stands for, enum trace_flush, of the address that is its base; -1:
 * none. */
Int decode_flush_of(const IRStmt *statement);

#endif
