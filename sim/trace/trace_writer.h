/*
 * SPDX-License-Identifier: MIT
 *
 * Writes a trace file event by event: what the writer process behind memtrace does, and tests that
 * make up a trace.
 *
 * A function that returns false has failed for good, errno says why; the writer then takes no more
 * and has to be closed. What is written to the file may fail later than the event that was in it.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include "trace/format.h"

struct trace_writer;

/* Creates the file. NULL, and one line in `problem`, if that cannot be done. */
struct trace_writer *trace_writer_open(const char *path, const char *command, bool with_values,
                                       char *problem, size_t length);

/* A code site's name, a stack's sites. Each kind is numbered from 1 on without gaps, each number
 * comes before its first use; else EINVAL. */
bool trace_writer_site(struct trace_writer *writer, uint32_t site, const char *name);
bool trace_writer_stack(struct trace_writer *writer, uint32_t stack, const uint32_t *sites,
                        size_t count);

/*
 * Appends an event to a thread's stream. Fields that its kind does not have (trace.h) are not
 * kept. With values, `bytes` NULL means zeroes; without, `bytes` is not kept. EINVAL: an unknown
 * kind, or a site or stack that was not defined.
 */
bool trace_writer_event(struct trace_writer *writer, uint32_t thread,
                        const struct trace_event *event);

/*
 * The same in two steps, for events that come again and again. The number of an event's operation,
 * which is what its kind, what, dependent, shared, size and site say; valid as long as the writer.
 * Then an event of it.
 */
bool trace_writer_operation(struct trace_writer *writer, const struct trace_event *event,
                            uint32_t *operation);
bool trace_writer_event_of(struct trace_writer *writer, uint32_t thread, uint32_t operation,
                           const struct trace_event *event);

/* The same for many events of kinds LOAD to NT_STORE which tell no values: loads, or without values
 * all of them. */
bool trace_writer_accesses_of(struct trace_writer *writer, uint32_t thread,
                              const struct trace_access *accesses, size_t count);

/* The thread has no more events: frees what its stream takes. */
bool trace_writer_thread_ends(struct trace_writer *writer, uint32_t thread);

/* The capture was stopped at a limit after so many accesses: trace_cut_at() will tell. */
void trace_writer_cut(struct trace_writer *writer, uint64_t accesses);

/* Accesses that were taken. */
uint64_t trace_writer_accesses(const struct trace_writer *writer);

/* Ends the file: complete, or as the capture was cut off. Frees the writer. */
bool trace_writer_close(struct trace_writer *writer, bool complete);

#endif
