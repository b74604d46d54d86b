/*
 * SPDX-License-Identifier: MIT
 *
 * A thread's block that is being filled with events.
 */
#ifndef TRACE_FILLING_H
#define TRACE_FILLING_H

#include "trace/columns.h"
#include "trace/model.h"

/* Events between two looks at the room. No event puts more than so many bytes into a column, but
 * for the bytes stored, whose room is looked at each time. */
enum { FILLING_STEP = 64, FILLING_EVENT_BYTES = 64 };

_Static_assert(FILLING_STEP *FILLING_EVENT_BYTES <= TRACE_EVENT_BYTES_MOST,
               "what a step appends to the other columns is within the room that is left");
_Static_assert(TRACE_EVENTS_MOST % FILLING_STEP == 0, "a look at the room is due at the most");

struct filling {
    struct model model;
    struct columns columns;
    uint32_t events;
    uint32_t *in_block; /* the number in the block of an operation; MODEL_START: it has none */
    uint32_t in_block_room;
};

/* NULL: out of memory. */
struct filling *filling_new(void);
void filling_free(struct filling *filling);

/* Appends an event, whose operation has this number in the file's definitions. False: out of
 * memory. */
bool filling_append(struct filling *filling, uint32_t operation, const struct trace_event *event,
                    bool with_values);

/* Appends accesses that tell no values, up to the next step: returns how many; 0: out of memory. */
size_t filling_accesses(struct filling *filling, const struct trace_access *accesses, size_t count);

/* Whether the block may have no room for more events. */
static inline bool filling_is_full(const struct filling *filling, bool with_values)
{
    if (filling->events % FILLING_STEP != 0 && !with_values)
        return false;
    return filling->events == TRACE_EVENTS_MOST ||
           columns_bytes(&filling->columns) > TRACE_RAW_MOST - 2 * TRACE_EVENT_BYTES_MOST;
}

/* The next block begins. */
static inline void filling_clear(struct filling *filling)
{
    columns_clear(&filling->columns);
    filling->events = 0;
}

#endif
