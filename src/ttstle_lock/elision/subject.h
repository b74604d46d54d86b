/*
 * SPDX-License-Identifier: MIT
 *
 * The lock that an elided section is about, of whichever kind, as elision.c sees it: whether it is
 * free, how it is waited for, where its memory is. Included by that file alone.
 */
#ifndef MPLACE_SUBJECT_H
#define MPLACE_SUBJECT_H

#include "mutex/statistics/lock_table.h"
#include "tts_lock/tts.h"
#include "tts_lock/tts_rwlock.h"
#include "tts_lock/tts_spin_lock.h"
#include "ttstle_lock/elision/retry_policy.h"

/*
 * The lock at hand. Each entry point below makes one of constants and of its argument, and is
 * compiled with all of this inlined: what is for the other kinds costs it nothing.
 */
struct subject {
    enum lock_kind kind;
    const void *key;  /* for the statistics */
    uint32_t record;  /* for the list of what this thread elides */
    uint16_t *memory; /* retry_policy.h's */
    union {
        pthread_mutex_t *mutex;
        pthread_rwlock_t *rwlock;
        pthread_spinlock_t *spin_lock;
    };
    enum rwlock_side side; /* of a rwlock */
};

#define SUBJECT_INLINE inline __attribute__((always_inline))

static SUBJECT_INLINE bool is_free(const struct subject *lock)
{
    switch (lock->kind) {
    case LOCK_RWLOCK:
        return rwlock_is_free(lock->rwlock);
    case LOCK_SPIN:
        return spin_lock_is_free(lock->spin_lock);
    default:
        return mutex_is_free(lock->mutex);
    }
}

/* memory: the lock's, as it was when this acquisition began. */
static SUBJECT_INLINE bool wait_until_free(const struct subject *lock, uint16_t memory)
{
    switch (lock->kind) {
    case LOCK_RWLOCK:
        return tts_rwlock_wait_until_free(lock->rwlock, lock->side,
                                          !retry_policy_remembers(elision_policy) ||
                                              memory == MEMORY_CLEAR);
    case LOCK_SPIN:
        return tts_spin_lock_wait_until_free(lock->spin_lock,
                                             !retry_policy_remembers(elision_policy));
    default:
        return tts_wait_until_free(lock->mutex, !retry_policy_remembers(elision_policy));
    }
}

/*
 * A spin lock has no room for a memory. The thread remembers the last one that failed, and forgets
 * it when another one fails.
 */
static __thread struct {
    uint32_t record;
    uint16_t memory;
    uint16_t back_offs; /* how many this thread drew at random; here, for there is a gap */
} failing_spin_lock;

/*
 * The lock's memory is a hint that threads read and write without order, and each value is a valid
 * one. It is changed only from what it was judged by: a thread that comes late must not write back
 * thousands of skips that a commit has cleared meanwhile. Its own update is lost then, which costs
 * one attempt too many or too few.
 */
static SUBJECT_INLINE uint16_t memory_load(const struct subject *lock)
{
    if (lock->kind == LOCK_SPIN && failing_spin_lock.record != lock->record)
        return MEMORY_CLEAR;
    return __atomic_load_n(lock->memory, __ATOMIC_RELAXED);
}

static SUBJECT_INLINE void memory_update(const struct subject *lock, uint16_t before,
                                         uint16_t after)
{
    if (lock->kind == LOCK_SPIN) {
        failing_spin_lock.record = lock->record;
        failing_spin_lock.memory = after;
    } else {
        (void)__atomic_compare_exchange_n(lock->memory, &before, after, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED);
    }
}

/*
 * A commit, or what will be one if all goes well, clears the lock's memory from inside the
 * transaction: so that is undone if the transaction aborts after all, and nothing touches the lock
 * after the commit, when another thread may already have destroyed it. It puts the lock's line into
 * the write set, against the rule of elision.c, but only in the first transaction after a failure:
 * the memory is read again here, so that of several threads that try only one writes.
 */
static SUBJECT_INLINE void memory_reset(const struct subject *lock)
{
    if (retry_policy_remembers(elision_policy) && memory_load(lock) != MEMORY_CLEAR)
        __atomic_store_n(lock->memory, MEMORY_CLEAR, __ATOMIC_RELAXED);
}

/*
 * A part of the address is enough to tell a mistake from an elided lock: locks are 4 bytes aligned,
 * so two with the same part lie 16 GiB apart or a multiple of that. Rwlocks are 8 bytes aligned,
 * which leaves bit 0 to say that one was entered for writing.
 */
enum { RECORD_WRITER = 1 };
static_assert(_Alignof(pthread_rwlock_t) >= 8, "bit 0 of its record is free");

static inline uint32_t record_of(const volatile void *lock)
{
    return (uint32_t)((uintptr_t)lock >> 2);
}

static SUBJECT_INLINE struct subject subject_mutex(pthread_mutex_t *mutex)
{
    return (struct subject){.kind = LOCK_MUTEX,
                            .key = mutex,
                            .record = record_of(mutex),
                            .memory = (uint16_t *)&mutex->__data.__elision,
                            .mutex = mutex};
}

static SUBJECT_INLINE struct subject subject_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return (struct subject){.kind = LOCK_RWLOCK,
                            .key = lock_key(rwlock, LOCK_RWLOCK),
                            .record =
                                record_of(rwlock) | (side == RWLOCK_WRITE ? RECORD_WRITER : 0),
                            .memory = rwlock_elision(rwlock, side),
                            .rwlock = rwlock,
                            .side = side};
}

static SUBJECT_INLINE struct subject subject_spin_lock(pthread_spinlock_t *spin_lock)
{
    return (struct subject){.kind = LOCK_SPIN,
                            .key = lock_key(spin_lock, LOCK_SPIN),
                            .record = record_of(spin_lock),
                            .memory = &failing_spin_lock.memory,
                            .spin_lock = spin_lock};
}

#endif
