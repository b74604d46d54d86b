/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which thread runs: Valgrind's big lock, replaced by a baton that is handed over on purpose.
 *
 * Valgrind runs one thread at a time, and the thread that holds the big lock is the one that runs.
 * Whenever it gives the lock up, a random processor with a ready thread goes on: that is how the
 * processors advance side by side.
 */
#ifndef VIRTUAL_PROCESSORS_BATON_H
#define VIRTUAL_PROCESSORS_BATON_H

#include "program_calls/valgrind_api.h"

/* A new sequence of choices. */
void baton_seed(ULong seed);

/* Is this the first time that it is asked since the running thread got the baton? */
Bool baton_is_new(void);

/* Nobody else goes on as long as processor_settings.is_favoured says so; not without a bound, for
 * this processor can wait for what another thread does. */
void baton_favour(Int cpu);

/* The running thread makes a system call: it gives up the baton until it is back. Not if the call
 * returns at once, so that nothing depends on how fast the host is. */
void baton_call(Bool returns_at_once);
void baton_call_returned(void);

/* The running thread gives up the baton for good. */
void baton_thread_exits(void);

/*
 * How many threads have come to wait for the baton so far, and a wait until there are so many: for
 * threads that the running one has just started or woken, so that who can run next does not depend
 * on how fast the host is. If some may never come, those of another process, then not for long.
 */
ULong baton_arrivals(void);
void baton_await(ULong arrivals, Bool certain);

#endif
