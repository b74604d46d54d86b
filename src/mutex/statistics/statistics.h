/*
 * SPDX-License-Identifier: MIT
 *
 * Counting, for mplace_lock_statistics and the report at exit. While nothing asked for counts, each
 * lock operation pays one load and one branch that is always predicted.
 *
 * Rules. Each thread counts by lock in a table of its own (lock_table.h), which no other thread
 * writes. It is never written inside a transaction: what a transaction acquires on the way goes to
 * the thread's nested sections, where an abort takes it back, and moves to the rows after the
 * commit. Nothing here allocates, takes a lock or looks into one: after an elided section's commit,
 * or after an unlock, the lock may be gone.
 */
#ifndef MPLACE_MUTEX_STATISTICS_H
#define MPLACE_MUTEX_STATISTICS_H

#include "mutex/statistics/lock_table.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * 0: nothing is counted. Otherwise the number of the last reset: a reset empties no table, it makes
 * all tables those of an earlier epoch, and each owner empties its own when it next counts. So no
 * count is written by two threads. Relaxed: a thread may notice a moment later.
 */
extern uint32_t statistics_epoch __attribute__((visibility("hidden")));

static inline bool statistics_on(void)
{
    return __builtin_expect(__atomic_load_n(&statistics_epoch, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * The following are called only while statistics_on(). lock is a key (lock_table.h); caller is the
 * address in the program to which the lock function returns.
 */

/* A lock was taken physically. */
void statistics_acquired(const void *lock, const void *caller, bool in_transaction);

/*
 * The calling thread could not have the lock at once. The wait ends with the next of these that
 * names the lock: statistics_acquired, a commit, statistics_gave_up. Not inside a transaction.
 */
void statistics_wait_begins(const void *lock);

/* The deadline passed. */
void statistics_gave_up(const void *lock, const void *caller);

/* An outermost transaction that elides the lock is about to begin. */
void statistics_attempt(const void *lock, const void *caller);

/* A nested section was entered elided; the outermost one is counted when it commits. */
void statistics_elided_nested(const void *lock, const void *caller);

/* The outermost transaction has committed: with it, one elided section and all that it recorded. */
void statistics_committed(void);

/* The outermost transaction, which was to elide this lock, has aborted. */
void statistics_aborted(const void *lock, const void *caller, enum statistics_abort cause);

/*
 * Takes over the setting of that name (TTS_STATS, TTSTLE_STATS): counts from now on, reports at
 * exit. MPLACE_STATS_LIVE counts too, and reports nothing. For constructors.
 */
void statistics_read_setting(const char *name);

/* The child of fork is a process of its own and starts from zero. The thread has its new id. */
void statistics_restart_in_child(void);

/*
 * Writes the report if the setting asked for one. htm says how the library elides, policy is NULL
 * where there is none. For destructors: other threads may still run, lock and count.
 */
void statistics_report(const char *library, const char *htm, const char *policy, const char *wait);

/* With MPLACE_STATS_LIVE=1: tells other processes where the counts are. The same arguments. For
 * constructors, when what they say is known. */
void statistics_publish(const char *library, const char *htm, const char *policy, const char *wait);

/* Lock operations that had no table to be counted in, for want of memory. Since process start. */
uint64_t statistics_uncounted(void);
const uint64_t *statistics_uncounted_at(void);

#endif
