/*
 * SPDX-License-Identifier: MIT
 *
 * glibc's pthread_rwlock_t since 2.25, as its ABI fixes it: which word means what, and who may
 * write it.
 *
 *   offset  field            meaning                                   written by
 *   0       __readers        the state, below                          everybody, atomically
 *   4       __writers        writers that wait, where they come        libc
 *                            first; bit 31: WRLOCKED is handed over
 *   8       __wrphase_futex  1 in a write phase, 0 in a read phase;    who changes the phase, right
 *                            readers and the primary writer sleep here after it
 *   12      __writers_futex  1 while there is a primary writer;        the primary writer
 *                            other writers sleep here
 *   16      __pad3           how waiters fared (spin_budget.h), in     waiters, racing: a hint
 *                            the lower half
 *   20      __pad4           how well elision used to work: readers    waiters, racing: a hint
 *                            in the lower half, writers in the upper
 *   24      __cur_writer     kernel id of the writer, 0 none           the writer
 *   28      __shared         1: process-shared                         init
 *   48      __flags          whom the lock prefers                     init
 *
 * The two paddings are 0 in a fresh lock, whatever made it, and libc never looks at them.
 *
 * __readers: bit 0 write phase, bit 1 there is a primary writer, bit 2 readers wait for it to go
 * first, from bit 3 on the number of readers that have the lock or wait for it. A writer has the
 * lock when bits 0 and 1 are set. After its unlock the write phase goes on until a reader comes.
 *
 *   no writer, no readers    free, in a phase of either sort: 0 or RWLOCK_WRITE_PHASE
 *   readers in a read phase  held by them; with RWLOCK_HAS_WRITER a writer waits
 *   RWLOCK_WRITTEN           held by a writer; with readers, these wait
 *
 * Two bits of the futex words are libc's: bit 1 of either says that somebody may sleep on it.
 */
#ifndef MPLACE_RWLOCK_LAYOUT_H
#define MPLACE_RWLOCK_LAYOUT_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static_assert(sizeof(pthread_rwlock_t) == 56, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__readers) == 0, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__writers) == 4, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__wrphase_futex) == 8, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__writers_futex) == 12, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__pad3) == 16, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__pad4) == 20, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__cur_writer) == 24, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__shared) == 28, "glibc ABI");
static_assert(offsetof(pthread_rwlock_t, __data.__flags) == 48, "glibc ABI");

enum {
    RWLOCK_WRITE_PHASE = 1 << 0,
    RWLOCK_HAS_WRITER = 1 << 1,
    RWLOCK_READERS_WAIT = 1 << 2,
    RWLOCK_FLAGS = RWLOCK_WRITE_PHASE | RWLOCK_HAS_WRITER | RWLOCK_READERS_WAIT,
    RWLOCK_READER = 1 << 3,
    RWLOCK_WRITTEN = RWLOCK_WRITE_PHASE | RWLOCK_HAS_WRITER,
};
/* libc refuses readers from here on (EAGAIN). */
#define RWLOCK_READERS_MOST (1u << 31)

enum rwlock_futex { RWLOCK_FUTEX_READ = 0, RWLOCK_FUTEX_WRITE = 1, RWLOCK_FUTEX_HAS_SLEEPERS = 2 };

/* What a thread wants of the lock, or has. */
enum rwlock_side { RWLOCK_READ, RWLOCK_WRITE };

static inline unsigned *rwlock_word(pthread_rwlock_t *rwlock)
{
    return &rwlock->__data.__readers;
}

/* Relaxed: to whoever takes or frees the lock it is what the compare-and-exchange then confirms, to
 * a waiter a hint, and inside a transaction the read itself is the subscription. */
static inline unsigned rwlock_state(pthread_rwlock_t *rwlock)
{
    return __atomic_load_n(rwlock_word(rwlock), __ATOMIC_RELAXED);
}

/* Nobody has it and nobody wants it. */
static inline bool rwlock_state_is_free(unsigned state)
{
    return (state & ~(unsigned)RWLOCK_WRITE_PHASE) == 0;
}

static inline bool rwlock_is_free(pthread_rwlock_t *rwlock)
{
    return rwlock_state_is_free(rwlock_state(rwlock));
}

/* Read without order: written once, before the lock is used. */
static inline bool rwlock_is_shared(const pthread_rwlock_t *rwlock)
{
    return rwlock->__data.__shared != 0;
}

/* Whether a new reader must let a waiting writer go first: with that kind no thread reads twice. */
static inline bool rwlock_readers_yield(const pthread_rwlock_t *rwlock)
{
    return rwlock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static inline bool rwlock_prefers_readers(const pthread_rwlock_t *rwlock)
{
    return rwlock->__data.__flags == PTHREAD_RWLOCK_PREFER_READER_NP;
}

/* Whether a reader may have it now, and need wait for nobody. */
static inline bool rwlock_is_readable(const pthread_rwlock_t *rwlock, unsigned state)
{
    if (state & RWLOCK_WRITE_PHASE)
        return state == RWLOCK_WRITE_PHASE;
    return !(state & RWLOCK_HAS_WRITER) || !rwlock_readers_yield(rwlock);
}

/* Atomic because others compare it with their own ids; relaxed because only a thread itself ever
 * stores its own, so it cannot read that by a race. */
static inline int rwlock_writer(const pthread_rwlock_t *rwlock)
{
    return __atomic_load_n(&rwlock->__data.__cur_writer, __ATOMIC_RELAXED);
}

static inline void rwlock_set_writer(pthread_rwlock_t *rwlock, int thread)
{
    __atomic_store_n(&rwlock->__data.__cur_writer, thread, __ATOMIC_RELAXED);
}

/* Where the lock remembers how its waiters fared, and how elision does. */
static inline uint16_t *rwlock_spins(pthread_rwlock_t *rwlock)
{
    return (uint16_t *)&rwlock->__data.__pad3;
}

static inline uint16_t *rwlock_elision(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return (uint16_t *)&rwlock->__data.__pad4 + side;
}

#endif
