/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What VEX's intermediate code does not tell any more of an instruction, told from its bytes.
 */
#ifndef MEMTRACE_INSTRUCTIONS_H
#define MEMTRACE_INSTRUCTIONS_H

#include "memtrace/memtrace.h"

/* It stores past the caches. */
Bool instruction_is_non_temporal(const UChar *bytes);

/* Which fence it is, enum trace_fence; -1: none, though VEX may make one of it, as of CPUID. */
Int instruction_fence(const UChar *bytes);

/* Which flush of a line it is, enum trace_flush, and where its ModRM byte is; -1: none. */
Int instruction_flush(const UChar *bytes, UInt *modrm);

#endif
