/*
 * SPDX-License-Identifier: MIT
 *
 * s-wal as the cores see it: accesses, flushes and fences that the protocol's software does in a
 * thread, between the thread's own events. Of other protocols there are none.
 */
#ifndef CHIP_SOFTWARE_H
#define CHIP_SOFTWARE_H

#include "chip/persistence/persistence.h"
#include "trace/trace.h"

/* The next event of the software: LOAD and STORE, of which `address` is a block, FLUSH of such a
 * block, FENCE, and MARK. False: there is none. */
bool software_next(struct persistence *persistence, uint32_t thread, struct trace_event *event);

/* Whether there is one. */
bool software_is_due(const struct persistence *persistence, uint32_t thread);

/* The event is replayed now. False: the thread waits, and the event comes again. */
bool software_replay(struct persistence *persistence, uint32_t thread,
                     const struct trace_event *event);

void software_free(struct persistence *persistence);

#endif
