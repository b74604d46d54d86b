/*
 * SPDX-License-Identifier: MIT
 *
 * Memory of sub-heaps that nobody comes by: their CPU is idle, offline, or one that the process may
 * not run on any more. Threads on other CPUs see to them, one sub-heap at a time.
 */
#ifndef MPLACE_CIA_HOUSEKEEPING_H
#define MPLACE_CIA_HOUSEKEEPING_H

#include <stdbool.h>

/*
 * Called now and then off the fast paths, with no sub-heap locked. When it is time, looks at the
 * next sub-heap, unless somebody holds it: flushes the magazines of its CPU if they are due, takes
 * in what other threads freed to it, purges what is due there, and, once no run has come or gone in
 * it for the decay time, trims it: again whenever blocks may have come back to it. Also gives back
 * mappings that were not wanted for that long. True if it was time; never in the child of a vfork.
 *
 * Costs a clock and a load when it is not time, which is nearly always: a sub-heap is looked at
 * DECAY_STEPS times in a decay time. Who comes late looks at as many as are due by then. Purges 64
 * MiB of a sub-heap at most, or, when it is trimmed, all of it.
 */
bool housekeeping_tick(void);

#endif
