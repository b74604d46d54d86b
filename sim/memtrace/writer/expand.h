/*
 * SPDX-License-Identifier: MIT
 *
 * Makes events of what the tool sends: pieces of code and addresses.
 */
#ifndef MEMTRACE_EXPAND_H
#define MEMTRACE_EXPAND_H

#include "memtrace/wire.h"
#include "trace/trace_writer.h"

/* A load depends on another one if its address was computed from what that one loaded, in
 * registers, and not longer ago than so many instructions: what an out-of-order processor may still
 * wait for. */
enum { EXPAND_DEPENDENT_INSTRUCTIONS = 256 };

struct expander;

/* NULL: out of memory. */
struct expander *expander_new(struct trace_writer *writer, bool with_values);
void expander_free(struct expander *expander);

/* The content of the messages of these names. False: what comes is not what the tool sends
 * (errno is EPROTO), or the file cannot be written. */
bool expander_piece(struct expander *expander, uint32_t number, const void *content, size_t bytes);
bool expander_events(struct expander *expander, uint32_t thread, const void *content, size_t bytes);
bool expander_thread_ends(struct expander *expander, uint32_t thread);

#endif
