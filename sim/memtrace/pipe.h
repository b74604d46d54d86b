/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The way to the writer process. Definitions are collected and sent before the next events.
 */
#ifndef MEMTRACE_PIPE_H
#define MEMTRACE_PIPE_H

#include "memtrace/memtrace.h"
#include "memtrace/wire.h"

/* Opens it as the options say; ends the process with one line if that cannot be done. */
void pipe_open(void);

/* Whether somebody listens: false from pipe_close() on, or if the writer is gone. */
extern Bool pipe_is_open;

/* Keeps a definition for the next events. */
void pipe_define(enum wire_message message, UInt number, const void *content, SizeT bytes);

/* Sends a message, and what is to be sent before it. */
void pipe_send(enum wire_message message, UInt number, const void *content, SizeT bytes);

/* The process says nothing more. What was not sent is dropped. */
void pipe_close(void);

#endif
