/*
 * SPDX-License-Identifier: MIT
 *
 * The events of a trace with values in the order in which they were captured.
 */
#ifndef POWERCUT_REPLAY_H
#define POWERCUT_REPLAY_H

#include "trace/trace.h"

#include <stdbool.h>

/*
 * Calls visit with each event of each thread. Ends early when visit returns false, which is no
 * failure. NULL, or what is wrong: the trace is damaged, or there is no memory.
 */
const char *replay(struct trace *trace,
                   bool (*visit)(void *context, uint32_t thread, const struct trace_event *event),
                   void *context);

#endif
