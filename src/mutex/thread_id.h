/*
 * SPDX-License-Identifier: MIT
 *
 * The kernel's id of the calling thread, the same number that libc writes into __owner.
 */
#ifndef MPLACE_MUTEX_THREAD_ID_H
#define MPLACE_MUTEX_THREAD_ID_H

#include <stdint.h>

/*
 * 0 until this thread first asks. The libraries are built with the initial-exec model: one load, no
 * call, and never an allocation.
 */
extern __thread int thread_id_cached __attribute__((visibility("hidden")));

int thread_id_ask_libc(void);

static inline int thread_id(void)
{
    int known = thread_id_cached;

    return __builtin_expect(known != 0, 1) ? known : thread_id_ask_libc();
}

static inline void thread_id_forget(void)
{
    thread_id_cached = 0;
}

/*
 * Handlers of fork: before it, and after it in both processes. In the child the one thread has
 * another id, and the handlers of libraries that were initialised before ours lock and unlock there
 * before ours is called. So nothing is remembered between the two calls. The calling thread only.
 */
void thread_id_before_fork(void);
void thread_id_after_fork(void);

/* In the child of _Fork, which calls no handler. */
void thread_id_after_bare_fork(void);

#endif
