/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The numbers of code sites and stacks; what they mean is told to the writer when they are new.
 */
#ifndef MEMTRACE_SITES_H
#define MEMTRACE_SITES_H

#include "memtrace/memtrace.h"

#include "pub_tool_execontext.h"

/* The site of the instruction at this address. */
UInt sites_of(Addr instruction);

/* The stack without its innermost frame, which is the function that was called; the site of the
 * innermost of the others in `site`. */
UInt sites_of_stack(ExeContext *stack, UInt *site);

#endif
