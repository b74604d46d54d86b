/*
 * SPDX-License-Identifier: MIT
 *
 * Contention managers: what a transaction does after an abort, and when it gets the process to
 * itself (TM_CONTENTION).
 */
#ifndef TM_RUNTIME_CONTENTION_H
#define TM_RUNTIME_CONTENTION_H

#include "tm_runtime/thread.h"

enum contention_manager {
    CONTENTION_NONE,      /* tries again when the lock in the way is free, or soon; may never end */
    CONTENTION_BACKOFF,   /* waits for a random time that doubles; after 500 aborts as the last */
    CONTENTION_HOURGLASS, /* after 128 aborts in a row nobody else begins until it commits */
    CONTENTION_SERIALISE, /* after 100 it runs in serial mode */
};

enum {
    CONTENTION_BACKOFF_ABORTS = 500, /* so that every transaction ends */
    CONTENTION_HOURGLASS_ABORTS = 128,
    CONTENTION_SERIALISE_ABORTS = 100,
};

extern enum contention_manager contention_manager;

/* The transaction was rolled back for that cause; next it starts again. */
void contention_after_abort(struct tm_thread *self, enum tm_cause cause);

/* It has committed after aborts, or was cancelled. */
void contention_after_commit(struct tm_thread *self);

#endif
