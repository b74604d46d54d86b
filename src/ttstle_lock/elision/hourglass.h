/*
 * SPDX-License-Identifier: MIT
 *
 * The hourglass: while one thread has turned it, no other thread of the process begins a
 * transaction, so that those under way run out and its own has nobody to conflict with. For
 * POLICY_HOURGLASS; retry_policy.h says where it comes from.
 *
 * It decides who waits and never what is correct: a section is guarded by its lock whatever the
 * hourglass says. That is why nothing can hang by it:
 *   - its owner waits for no lock while it has it, and opens it when it commits or gives up;
 *   - threads that take locks physically, and transactions under way, do not look at it;
 *   - who waits at it waits for a bounded time, and then opens it in the owner's place: for an
 * owner that ended, left by a jump, is another process's after fork, or does not get a processor.
 */
#ifndef MPLACE_HOURGLASS_H
#define MPLACE_HOURGLASS_H

#include <stdbool.h>

/*
 * Whether the calling thread may begin a transaction now. alone: only as the owner, and it becomes
 * the owner if there is none. Writes only then: the normal path reads one word.
 */
bool hourglass_admits(bool alone);

/* Until it is open, or the wait has lasted too long and it was opened. Outside transactions. */
void hourglass_wait(void);

/* If the calling thread is the owner. */
void hourglass_open(void);

/* In the child of fork. */
void hourglass_after_fork(void);

#endif
