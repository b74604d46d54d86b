/*
 * SPDX-License-Identifier: MIT
 *
 * The thread's own id; see thread_id.h. Touches the calling thread's storage only.
 */
#include "mutex/thread_id.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

__thread int thread_id_cached;

/* Calls of fork that this thread is in the middle of: a signal handler may fork in one of them. */
static __thread uint8_t forking;

/* Changes with each fork that this thread comes out of. */
static __thread uint8_t forks;

/*
 * libc's own number, as it would write it into __owner, without a system call: the kernel's clock
 * ids (CPUCLOCK_PID) hold the thread's id, complemented, above three bits that say which clock.
 */
static int id_known_to_libc(void)
{
    clockid_t clock;

    if (pthread_getcpuclockid(pthread_self(), &clock) == 0 && clock < 0 && (clock & 7) == 6)
        return ~(clock >> 3);
    return gettid();
}

/* A signal handler may fork at any instruction of this, and what libc said before is not the
 * child's. The look at forks comes last: a fork after it forgets the id itself. */
int thread_id_ask_libc(void)
{
    for (;;) {
        uint8_t before = *(volatile uint8_t *)&forks;
        int id = id_known_to_libc();

        if (forking == 0)
            thread_id_cached = id;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (*(volatile uint8_t *)&forks == before)
            return id;
        thread_id_forget();
    }
}

void thread_id_before_fork(void)
{
    forking++;
    thread_id_forget();
}

void thread_id_after_fork(void)
{
    if (forking != 0) /* 0: the fork began before its handlers were registered */
        forking--;
    thread_id_after_bare_fork();
}

void thread_id_after_bare_fork(void)
{
    forks++;
    thread_id_forget();
}
