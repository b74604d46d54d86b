/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is known of the program's objects that threads wait at: by their addresses.
 */
#ifndef MEMTRACE_OBJECTS_H
#define MEMTRACE_OBJECTS_H

#include "memtrace/memtrace.h"

/* A post of a thread of the trace, numbered from 1; 0: none. */
struct post {
    ULong number;
    UInt thread;
};

struct object {
    struct object *next; /* as the hash table wants it */
    UWord address;

    struct post latest;
    ULong posts; /* how many there were */

    Bool is_held;      /* a spin lock */
    Bool is_exclusive; /* a lock of readers and writers that a writer has */
    Bool is_once;      /* a control of pthread_once */

    UWord threads, arrived; /* at a barrier: wanted; there in this round */
    ULong rounds;           /* that are over */

    UWord credits; /* of a semaphore: waits that its initial value still serves */
    struct queued_post {
        struct queued_post *next;
        struct post post;
    } * first, **last; /* posts that no wait has taken yet */
};

/* The object at the address, a new one if none is known. */
struct object *objects_at(Addr address);

/* It is initialised: nothing that was before counts. */
void objects_reset(struct object *object);

/* A semaphore's post; and the one that a wait takes, the oldest. Number 0: it needs none. */
void objects_queue(struct object *object, struct post post);
struct post objects_take(struct object *object);

#endif
