/*
 * SPDX-License-Identifier: MIT
 *
 * glibc's pthread_mutex_t, as its ABI fixes it: which byte means what, and who may write it.
 *
 *   offset  field     meaning                                   written by
 *   0       __lock    0 free, 1 held, 2 held and some thread    everybody, atomically
 *                     may sleep on it
 *   4       __count   depth of a recursive mutex                the holder
 *   8       __owner   kernel id of the holding thread, 0 none   the holder
 *   12      __nusers  1 while held (destroy says EBUSY)         the holder
 *   16      __kind    type and attributes                       init and destroy
 *   20      __spins   how waiters fared (tts_lock/spin_budget.h)   waiters, racing: a hint
 *   22      __elision how well elision used to work             waiters, racing: a hint
 *
 * Sharing this protocol is what lets libc's own condition variables release and re-take a mutex of
 * ours from inside libc, where no interposition reaches. Two invariants follow:
 *   - a thread that has slept takes the lock by exchanging 2 into the word, for others may sleep;
 *   - __owner is 0 whenever the word is 0, on every type: libc asserts it when it re-takes.
 */
#ifndef MPLACE_MUTEX_LAYOUT_H
#define MPLACE_MUTEX_LAYOUT_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0, "glibc ABI: the lock word is first");
static_assert(offsetof(pthread_mutex_t, __data.__count) == 4, "glibc ABI");
static_assert(offsetof(pthread_mutex_t, __data.__owner) == 8, "glibc ABI");
static_assert(offsetof(pthread_mutex_t, __data.__nusers) == 12, "glibc ABI");
static_assert(offsetof(pthread_mutex_t, __data.__kind) == 16, "glibc ABI");
static_assert(offsetof(pthread_mutex_t, __data.__spins) == 20, "glibc ABI");
static_assert(offsetof(pthread_mutex_t, __data.__elision) == 22, "glibc ABI");

enum word_state { WORD_FREE = 0, WORD_HELD = 1, WORD_HELD_WITH_SLEEPERS = 2 };

/*
 * The low eight bits of __kind say whose a mutex is: these four are ours. Everything else in them
 * (16 robust, 32 priority-inheriting, 64 priority-protected, 128 process-shared, 255 destroyed) is
 * libc's.
 *
 * KIND_ELIDED_BY_LIBC changes nothing: where elision is switched on in libc, its condition waits
 * set that bit in a normal mutex of ours as they take it again, which they do by the word. Left to
 * libc from then on, the mutex would keep the user that we counted.
 */
enum mutex_type {
    TYPE_NORMAL = PTHREAD_MUTEX_TIMED_NP,
    TYPE_RECURSIVE = PTHREAD_MUTEX_RECURSIVE_NP,
    TYPE_ERROR_CHECK = PTHREAD_MUTEX_ERRORCHECK_NP,
    TYPE_ADAPTIVE = PTHREAD_MUTEX_ADAPTIVE_NP,
};

enum {
    KIND_TYPE_MASK = 0xff,
    /*
     * Set by PTHREAD_MUTEX_NORMAL chosen explicitly: locking it twice must deadlock, which a
     * flat-nested transaction would not do. libc sets it in C11's mutexes too, although C11 asks
     * for no deadlock: there the entry point says that it does not count.
     */
    KIND_NO_ELISION = 512,
    KIND_ELIDED_BY_LIBC = 256, /* what libc locks is in the word alone: no owner, no user */
    KIND_DESTROYED = -1,
};

static inline bool kind_is_ours(unsigned kind)
{
    return (kind & KIND_TYPE_MASK) <= TYPE_ADAPTIVE;
}

static inline int *mutex_word(pthread_mutex_t *mutex)
{
    return &mutex->__data.__lock;
}

/* Relaxed: but for the bit that means nothing here, __kind changes only where POSIX forbids any
 * other use of the mutex at that time. */
static inline unsigned mutex_kind(const pthread_mutex_t *mutex)
{
    return (unsigned)__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
}

/*
 * Whether the word reads free now. Relaxed: to a waiter it is a hint, and inside a transaction the
 * read itself is the subscription, ordered by the hardware.
 */
static inline bool mutex_is_free(pthread_mutex_t *mutex)
{
    return __atomic_load_n(mutex_word(mutex), __ATOMIC_RELAXED) == WORD_FREE;
}

/*
 * Atomic because threads that do not hold the mutex compare it with their own id; relaxed is enough
 * for that: only the thread itself ever stores its id, so it can never read it by a race.
 */
static inline int mutex_owner(const pthread_mutex_t *mutex)
{
    return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

static inline void mutex_set_owner(pthread_mutex_t *mutex, int thread)
{
    __atomic_store_n(&mutex->__data.__owner, thread, __ATOMIC_RELAXED);
}

#endif
