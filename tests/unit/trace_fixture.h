/*
 * SPDX-License-Identifier: MIT
 *
 * Traces of random events for tests, and a comparison of what is read with what was written.
 */
#ifndef TESTS_UNIT_TRACE_FIXTURE_H
#define TESTS_UNIT_TRACE_FIXTURE_H

#include "trace/trace_writer.h"

enum { FIXTURE_SITES = 40, FIXTURE_STACKS = 9, FIXTURE_THREADS = 3 };

/* Events of one thread, in the order in which they were written. */
struct written {
    struct trace_event *events;
    uint8_t (*bytes)[64];
    size_t count;
};

/* The same numbers in every run. */
uint32_t fixture_random(uint32_t below);

/* A file name of this test's process; the file is removed by fixture_remove(). */
const char *fixture_path(void);
void fixture_remove(void);

/* A new trace at that path, with the sites and stacks that random events use. */
struct trace_writer *fixture_writer(bool with_values);

/* Appends random events of each thread to the trace and to `written`, one list a thread. */
void fixture_write(struct trace_writer *writer, struct written written[FIXTURE_THREADS],
                   size_t events, bool with_values);

/* Fails the test unless the first `count` events of the thread that are read are those that were
 * written. Reads until the stream ends; returns how that was, and in `count` how many there were.
 */
enum trace_status fixture_compare(struct trace *trace, uint32_t thread,
                                  const struct written *written, bool with_values, size_t *count);

#endif
