/*
 * SPDX-License-Identifier: MIT
 *
 * The thread's own id; see thread_id.h. Touches the calling thread's storage only.
 */
#include "mutex/thread_id.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

__thread int thread_id_cached;

static __thread bool forking;

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

int thread_id_ask_libc(void)
{
    int id = id_known_to_libc();

    if (!forking)
        thread_id_cached = id;
    return id;
}

void thread_id_before_fork(void)
{
    forking = true;
    thread_id_forget();
}

void thread_id_after_fork(void)
{
    forking = false;
    thread_id_forget();
}
