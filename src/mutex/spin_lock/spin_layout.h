/*
 * SPDX-License-Identifier: MIT
 *
 * glibc's pthread_spinlock_t on x86-64: one int. 1 is free, everything below is held: libc locks by
 * an atomic decrement, so each thread that waits may have taken one off, and unlocks by storing 1.
 * Whether a spin lock is process-shared is written nowhere, and needs not be: the processor sees
 * another process's store as it sees another thread's.
 */
#ifndef MPLACE_SPIN_LAYOUT_H
#define MPLACE_SPIN_LAYOUT_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static_assert(sizeof(pthread_spinlock_t) == 4, "glibc ABI");

enum { SPIN_LOCK_FREE = 1 };

/* Relaxed: a hint to a waiter; inside a transaction the read itself is the subscription. */
static inline bool spin_lock_is_free(pthread_spinlock_t *lock)
{
    return __atomic_load_n(lock, __ATOMIC_RELAXED) == SPIN_LOCK_FREE;
}

#endif
