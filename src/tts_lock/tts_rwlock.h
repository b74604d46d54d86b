/*
 * SPDX-License-Identifier: MIT
 *
 * The physical rwlock on glibc's words (mutex/rwlock/rwlock_layout.h has their states). What wakes
 * nobody and waits for nobody is done here, in the steps that libc's own functions take; for
 * everything else the front calls these, which know all of the protocol. So threads that take the
 * lock by libc's functions and threads that take it by ours share it.
 *
 * Ordering: a take is an acquire on the state, a release a release on it; that pair makes a
 * writer's section visible to all that follow, and the readers' sections to the next writer.
 */
#ifndef MPLACE_TTS_RWLOCK_H
#define MPLACE_TTS_RWLOCK_H

#include "mutex/rwlock/rwlock_layout.h"

static inline bool tts_rwlock_exchange(pthread_rwlock_t *rwlock, unsigned *state, unsigned next,
                                       int order)
{
    return __atomic_compare_exchange_n(rwlock_word(rwlock), state, next, false, order,
                                       __ATOMIC_RELAXED);
}

/* One attempt for reading a lock that no writer has or wants; false is no answer. */
static inline bool tts_rwlock_try_read(pthread_rwlock_t *rwlock)
{
    unsigned state = rwlock_state(rwlock);

    return (state & RWLOCK_FLAGS) == 0 && state + RWLOCK_READER < RWLOCK_READERS_MOST &&
           tts_rwlock_exchange(rwlock, &state, state + RWLOCK_READER, __ATOMIC_ACQUIRE);
}

/* The same for any state that is readable. False: it is not, or it is full. */
bool tts_rwlock_try_read_any(pthread_rwlock_t *rwlock);

/*
 * One attempt for writing a free lock, by the thread of that id. No writer can sleep on
 * __writers_futex with its bit of sleepers to keep: one that was woken puts the bit back itself.
 */
static inline bool tts_rwlock_try_write(pthread_rwlock_t *rwlock, int thread)
{
    unsigned state = rwlock_state(rwlock);

    if (!rwlock_state_is_free(state) ||
        !tts_rwlock_exchange(rwlock, &state, RWLOCK_WRITTEN, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n(&rwlock->__data.__writers_futex, 1, __ATOMIC_RELAXED);
    /* In a write phase it is 1 already, and may have the bit of sleepers. */
    if (!(state & RWLOCK_WRITE_PHASE))
        __atomic_store_n(&rwlock->__data.__wrphase_futex, RWLOCK_FUTEX_WRITE, __ATOMIC_RELAXED);
    rwlock_set_writer(rwlock, thread);
    return true;
}

/* Ends a reader's section if that hands the lock to nobody. The lock may be gone when this returns
 * true; false: nothing is done, libc has to. */
static inline bool tts_rwlock_end_read(pthread_rwlock_t *rwlock, unsigned state)
{
    do {
        /* The last reader starts the write phase for a writer that waits. */
        if (state < 2 * RWLOCK_READER && (state & RWLOCK_FLAGS) != 0)
            return false;
    } while (!tts_rwlock_exchange(rwlock, &state, state - RWLOCK_READER, __ATOMIC_RELEASE));
    return true;
}

/*
 * Ends a writer's section likewise. False: the lock is still the caller's, but __cur_writer may not
 * say so, by which libc tells writers from readers: the caller has to put its id there. (In the
 * child of fork it is the parent's.)
 *
 * Nobody can sleep on __writers_futex once that is 0, and who would have set the bit of sleepers
 * before that makes the exchange fail. A writer that counts itself in __writers after the look
 * there has not slept either, and finds the lock free.
 */
static inline bool tts_rwlock_end_write(pthread_rwlock_t *rwlock)
{
    unsigned futex = 1;
    unsigned state = RWLOCK_WRITTEN;

    if (!__atomic_compare_exchange_n(&rwlock->__data.__writers_futex, &futex, 0, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    if (!rwlock_prefers_readers(rwlock) &&
        __atomic_load_n(&rwlock->__data.__writers, __ATOMIC_RELAXED) != 0)
        return false;
    rwlock_set_writer(rwlock, 0);
    return tts_rwlock_exchange(rwlock, &state, RWLOCK_WRITE_PHASE, __ATOMIC_RELEASE);
}

/*
 * Looks for as long as this lock's past suggests (spin_budget.h), after an attempt has failed.
 * True: taken. False: the caller goes on to libc's function, which sleeps, under every TTS_WAIT:
 * only a thread that has told the lock that it waits is served in the order that the lock's kind
 * promises.
 */
bool tts_rwlock_spin(pthread_rwlock_t *rwlock, enum rwlock_side side);

/*
 * Waits for a while, never for good, until the lock was seen free, without taking it. A thread may
 * read twice, so a reader that waited for all readers to go might wait for itself. With
 * full_budget false it waits least where it need only join them.
 */
bool tts_rwlock_wait_until_free(pthread_rwlock_t *rwlock, enum rwlock_side side, bool full_budget);

#endif
