/*
 * SPDX-License-Identifier: MIT
 *
 * Counting, for mplace_lock_statistics and the report at exit. While nothing asked for counts, each
 * lock operation pays one load and one branch that is always predicted.
 *
 * Rules. Counts live in slots of their own cache lines, one slot a thread (threads beyond the last
 * slot share, which is why slots are added to atomically; a thread's exit loses nothing). A slot is
 * never written inside a transaction: what a transaction acquires on the way is noted in the
 * thread's own storage, where an abort takes it back, and moves to the slot after the commit.
 */
#ifndef MPLACE_MUTEX_STATISTICS_H
#define MPLACE_MUTEX_STATISTICS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Transactions ended by an abort, by cause; one cause an abort. */
enum statistics_abort {
    ABORT_CONFLICT,
    ABORT_CAPACITY,
    ABORT_EXPLICIT,
    ABORT_NESTED,
    ABORT_DEBUG,
    ABORT_OTHER,
    ABORT_CAUSES
};

/* Turned on once and never off; relaxed: a thread may count from a moment later. */
extern bool statistics_counting __attribute__((visibility("hidden")));

static inline bool statistics_on(void)
{
    return __builtin_expect(__atomic_load_n(&statistics_counting, __ATOMIC_RELAXED), 0);
}

/*
 * The following are called only while statistics_on(). caller is the address in the program to
 * which the lock function returns.
 */

/* A lock was taken physically. */
void statistics_acquired(pthread_mutex_t *mutex, const void *caller, bool in_transaction);

/* A nested section was entered elided; the outermost one is counted when it commits. */
void statistics_elided_nested(pthread_mutex_t *mutex, const void *caller);

/* The outermost transaction has committed: with it, one elided section and all that it noted. */
void statistics_committed(void);

void statistics_aborted(pthread_mutex_t *mutex, const void *caller, enum statistics_abort cause);

/*
 * Takes over the setting of that name (TTS_STATS, TTSTLE_STATS): counts from now on, reports at
 * exit. For constructors.
 */
void statistics_read_setting(const char *name);

/* The child of fork is a process of its own and starts from zero. */
void statistics_restart_in_child(void);

/*
 * Writes the report if the setting asked for one. htm says how the library elides, policy is NULL
 * where there is none. For destructors.
 */
void statistics_report(const char *library, const char *htm, const char *policy, const char *wait);

#endif
