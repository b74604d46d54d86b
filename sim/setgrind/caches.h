/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The first-level data caches, one a thread, as though each ran on a processor of its own: a
 * set-associative one, and beside it a fully associative one of the same size. Both see the same
 * accesses. Nothing here makes one thread's store drop another's line.
 */
#ifndef SETGRIND_CACHES_H
#define SETGRIND_CACHES_H

#include "tallies.h"

struct cache_totals {
    ULong accesses; /* one for each load or store instruction's part in memory */
    ULong visits;
    struct counts heap, elsewhere; /* heap: in blocks that are known */
    UInt threads;                  /* that had a cache */
};

extern struct cache_totals cache_totals;

void caches_load(Addr address, ULong size);
void caches_store(Addr address, ULong size);

void caches_thread_goes_on(ThreadId thread);
void caches_thread_is_new(ThreadId thread);

/* Once: what is told of marked lines. wrote: a store marked the line; lost: it had to leave. */
void caches_watch(void (*wrote)(ThreadId thread, Addr line),
                  void (*lost)(ThreadId thread, Addr line));

/* From here on the thread's stores are marked; the marks from before are gone. */
void caches_begin_marking(ThreadId thread);
void caches_end_marking(ThreadId thread);

/* The marked lines in a set of the thread's cache, at most as many as it has ways. */
UInt caches_marked_lines(ThreadId thread, UInt set, Addr *lines);

void caches_reset_totals(void);
void caches_init(void);

#endif
