/*
 * SPDX-License-Identifier: MIT
 *
 * The events of the simulation in the order of their times, and the pool that they come from.
 * Events of one time come out in the order in which they went in, so that a run is deterministic.
 *
 * A wheel with a list for each of the next 2^17 cycles: both operations take constant time. What is
 * due later than that goes round once more. Memory grows to the most events ever pending.
 */
#ifndef CHIP_QUEUE_H
#define CHIP_QUEUE_H

#include "chip/engine/message.h"

enum { QUEUE_SLOTS = 1 << 17 };

struct queue {
    uint64_t now; /* the time of the last event taken; nothing earlier may be put in */
    uint64_t pending;
    struct message **last; /* a slot: the last of a circular list, or NULL */
    uint64_t *occupied;    /* a bit a slot */
    struct message *free;
    struct queue_chunk *chunks;
};

/* False: out of memory. */
bool queue_init(struct queue *queue);
void queue_destroy(struct queue *queue);

/* A zeroed message. Ends the process with one line if there is no memory. */
struct message *queue_new(struct queue *queue);
void queue_free(struct queue *queue, struct message *message);

/* `time` not before the present. */
void queue_put(struct queue *queue, struct message *message, uint64_t time);

/* The next event, the present being its time from then on. NULL: there is none. */
struct message *queue_take(struct queue *queue);

#endif
