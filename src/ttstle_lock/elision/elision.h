/*
 * SPDX-License-Identifier: MIT
 *
 * Lock elision: running a critical section as a transaction that has read the lock word as free,
 * instead of writing it. Any thread that takes the lock physically writes the word and thereby
 * aborts all who elide it. An elided section touches neither owner nor counts: any two elided
 * sections would conflict there.
 */
#ifndef MPLACE_ELISION_H
#define MPLACE_ELISION_H

#include "mutex/mutex_layout.h"
#include "mutex/rwlock/rwlock_layout.h"
#include "mutex/spin_lock/spin_layout.h"
#include "ttstle_lock/elision/retry_policy.h"

/* The back end; unit tests name their scripted one. */
#ifndef MPLACE_HTM_BACK_END
#define MPLACE_HTM_BACK_END "ttstle_lock/rtm/rtm.h"
#endif
#include MPLACE_HTM_BACK_END

enum elision_waiting {
    ELISION_MAY_WAIT,   /* for the lock to become free, before each attempt */
    ELISION_NEVER_WAIT, /* a busy lock is an answer, also inside a transaction */
};

/* Reads TTSTLE_POLICY, into elision_policy. */
void elision_read_settings(void);

/* As TTSTLE_POLICY has it, for reports. */
const char *elision_policy_name(void);

/*
 * Enters the section elided: true, and the calling thread is inside a transaction. False: take the
 * lock. Requires htm_usable. caller is the program's call of the lock function, for the statistics.
 */
bool elision_enter(pthread_mutex_t *mutex, enum elision_waiting waiting, const void *caller);

/* Ends an elided section of this lock; false: there is none. Requires htm_usable and htm_active().
 */
bool elision_leave(const pthread_mutex_t *mutex);

/*
 * The same for rwlocks that are not process-shared and for spin locks. Readers and writers of a
 * rwlock elide alike: it must be wholly free. An elided rwlock that is entered again for writing,
 * or by its writer, leaves the transaction. A rwlock is never waited for without bound.
 */
bool elision_enter_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                          enum elision_waiting waiting, const void *caller);
bool elision_leave_rwlock(pthread_rwlock_t *rwlock);
bool elision_enter_spin_lock(pthread_spinlock_t *lock, enum elision_waiting waiting,
                             const void *caller);
bool elision_leave_spin_lock(pthread_spinlock_t *lock);

/*
 * The calling thread's list of signals that wait for the commit (deferred.h), 0 for none. The first
 * also is 0 unless the outermost section of the transaction is an elided one, whose end carries
 * them out: others' transactions may enclose ours. Requires htm_active().
 */
unsigned elision_list_in_transaction(void);
unsigned elision_list_of_thread(void);

#endif
