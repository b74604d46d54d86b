/*
 * SPDX-License-Identifier: MIT
 *
 * How threads get their descriptors, and what becomes of them when a thread ends or the process
 * forks.
 */
#ifndef TM_RUNTIME_REGISTRY_H
#define TM_RUNTIME_REGISTRY_H

#include "tm_runtime/thread.h"

/* Gives the calling thread a descriptor. Waits until no transaction runs. Does not fail: without
 * memory the process ends with one line. */
struct tm_thread *registry_enter(void);

/* Of library.c: reads the settings, if the constructor has not done so yet. */
void library_start(void);

/*
 * Handlers of fork. Before it, transactions of other threads come to an end, for the child's memory
 * is not of one moment: the kernel copies page after page. They are not waited for if the thread is
 * in a transaction itself, or if it takes too long (gate_begin_fork): then what the others have
 * done is undone in the child as far as it can be seen there, or finished where they were writing
 * it back. Handlers of other libraries, which run before or after these, may have transactions.
 */
void registry_before_fork(void);
void registry_after_fork_in_parent(void);
void registry_after_fork_in_child(void);

#endif
