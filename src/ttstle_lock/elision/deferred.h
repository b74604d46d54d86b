/*
 * SPDX-License-Identifier: MIT
 *
 * Signals and posts that wait for the commit of the elided section that made them (TTSTLE_DEFER=1),
 * because the system call that wakes a thread aborts a transaction. Each thread has a list of fixed
 * size. It is written inside the transaction: so its entries become visible with the commit, to all
 * threads at once with what the section changed, and vanish with an abort. The thread carries them
 * out right after the commit, in order, and clears each when that is done; until then the object is
 * pending, and a thread that destroys it, or asks for a semaphore's value, waits.
 *
 * tests/model/deferred.pml is the model of it.
 */
#ifndef MPLACE_DEFERRED_H
#define MPLACE_DEFERRED_H

#include <stdbool.h>

enum deferred_kind {
    DEFERRED_BROADCAST = 0, /* of a pthread_cond_t */
    DEFERRED_POST = 1,      /* of a sem_t */
};

/* Written by deferred_start alone. False: no thread has a list. */
extern bool deferred_on __attribute__((visibility("hidden")));

/* What carries an entry out, for all lists. For the library's constructor. */
typedef void deferred_carry_out(void *object, enum deferred_kind kind);
void deferred_start(bool on, deferred_carry_out *carry_out);

/*
 * The calling thread's list, a number from 1 on, which it claims if known is not it; 0: there is
 * none, for more threads have one than there are, or this is a child of vfork, _Fork or clone.
 * What the thread left undone before (it jumped out of the function that did it) is the caller's to
 * carry out. Outside transactions; requires deferred_on.
 */
unsigned deferred_list_of_thread(unsigned known);

/* Adds an entry; inside a transaction. False: the list is full. A second broadcast of a condition
 * variable adds nothing. */
bool deferred_add(unsigned list, const void *object, enum deferred_kind kind);

/* Carries the entries out, those of the list's thread, by that thread. Outside transactions. A
 * signal handler of the thread may come in between, and do the same. errno is preserved. */
void deferred_drain(unsigned list);

/* Whether any thread has committed an entry for this object, or this one has added it. */
bool deferred_is_pending(const void *object);

/*
 * Waits until what other threads have committed for this object is carried out; NULL: for all
 * objects. own: the calling thread's list, which is not waited for. Outside transactions.
 */
void deferred_wait(const void *object, unsigned own);

/* In the child of fork: the other lists' threads are not there. own as above. */
void deferred_after_fork(unsigned own);

#endif
