/*
 * SPDX-License-Identifier: MIT
 *
 * What the front (front.h) asks of a lock core. The front knows types, owners, recursion and error
 * codes; a core knows the lock word, how to wait for it, and whether a section may run as a
 * transaction instead. Each library compiles the front with its own core, included at the end, so
 * that the uncontended path has no call in it.
 */
#ifndef MPLACE_LOCK_CORE_H
#define MPLACE_LOCK_CORE_H

#include "mutex/mutex_layout.h"
#include "mutex/rwlock/rwlock_layout.h"
#include "mutex/spin_lock/spin_layout.h"

#include <time.h>

/* ---- the physical lock: all work on the word alone, owner and counts are the front's ---- */

/* One attempt; never waits. */
static inline bool lock_core_try(pthread_mutex_t *mutex);

/* The same, atomic even while libc knows of one thread only; see tts_lock/tts.h. */
static inline bool lock_core_try_atomic(pthread_mutex_t *mutex);

/* Takes the lock, waiting as long as it takes; for after an attempt has failed. */
static inline void lock_core_acquire(pthread_mutex_t *mutex);

/*
 * The same, but gives up: ETIMEDOUT once the deadline has passed, EINVAL at once if the deadline is
 * malformed. clock is CLOCK_REALTIME or CLOCK_MONOTONIC.
 */
static inline int lock_core_acquire_until(pthread_mutex_t *mutex, clockid_t clock,
                                          const struct timespec *deadline);

/* Frees the word and wakes a sleeper. The mutex may be gone when this returns. */
static inline void lock_core_release(pthread_mutex_t *mutex);

/*
 * Rwlocks and spin locks are waited for in one way only, so every core includes the one physical
 * lock that there is of each, and the front uses it by its own names: tts_lock/tts_rwlock.h,
 * tts_lock/tts_spin_lock.h.
 */

/*
 * ---- elision; a core without it answers false and does nothing ----
 *
 * kind is __kind as the entry point sees it, and KIND_NO_ELISION in it forbids; caller is for the
 * statistics.
 */

/* Whether transactions are at hand in this process at all. */
static inline bool lock_core_elides(void);

/*
 * Enters the critical section of a normal or adaptive mutex without taking it. May wait, as
 * lock_core_acquire does. False: take it physically.
 */
static inline bool lock_core_elide(pthread_mutex_t *mutex, unsigned kind, const void *caller);

/*
 * The same for trylock: never waits. Inside a transaction, too, it elides a free lock, and false
 * means that somebody holds it. It does not return there if this thread elides this very mutex, or
 * if the core's policy is to leave the transaction.
 */
static inline bool lock_core_try_elide(pthread_mutex_t *mutex, unsigned kind, const void *caller);

/* The same for timedlock and clocklock; inside a transaction it does not return. */
static inline bool lock_core_elide_until(pthread_mutex_t *mutex, unsigned kind, const void *caller);

/*
 * Ends the elided section if the calling thread is in one that unlocking this mutex may end. The
 * front calls it when the word reads free. False: nothing was elided, the mutex is not locked.
 */
static inline bool lock_core_end_elided(pthread_mutex_t *mutex, unsigned kind);

/*
 * The same three for rwlocks and spin locks. Each but lock_core_end_elided may be asked for a lock
 * in any state. An elided rwlock that the same thread locks again, to write or as its writer, does
 * not return: only a physical run gets libc's answer to that.
 */
static inline bool lock_core_elide_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                          const void *caller);
static inline bool lock_core_try_elide_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                                              const void *caller);
static inline bool lock_core_end_elided_rwlock(pthread_rwlock_t *rwlock);

static inline bool lock_core_elide_spin_lock(pthread_spinlock_t *lock, const void *caller);
static inline bool lock_core_try_elide_spin_lock(pthread_spinlock_t *lock, const void *caller);
static inline bool lock_core_end_elided_spin_lock(pthread_spinlock_t *lock);

/* Whether the caller runs inside a transaction. */
static inline bool lock_core_in_transaction(void);

/*
 * Returns only outside a transaction; inside one, aborts it and has the outermost section run
 * again, taken physically. For whatever a transaction must not or cannot do: sleep, wait, decide by
 * who holds a lock.
 */
static inline void lock_core_leave_transaction(void);

#include MPLACE_LOCK_CORE

#endif
