/*
 * SPDX-License-Identifier: MIT
 *
 * The threads of a trace in one order that the program's synchronisation allows.
 */
#ifndef POWERCUT_REPLAY_H
#define POWERCUT_REPLAY_H

#include "trace/trace.h"

#include <stdbool.h>

/*
 * Calls visit with each event of each thread, in an order that seed chooses: the same for the same
 * trace and seed. Ends early when visit returns false, which is no failure. NULL, or what is wrong:
 * the trace is damaged, or there is no memory.
 */
const char *replay(struct trace *trace, uint64_t seed,
                   bool (*visit)(void *context, uint32_t thread, const struct trace_event *event),
                   void *context);

#endif
