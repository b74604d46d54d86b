/*
 * SPDX-License-Identifier: MIT
 *
 * See hourglass.h.
 */
#include "ttstle_lock/elision/hourglass.h"

#include "base/spin.h"
#include "mutex/thread_id.h"
#include "tts_lock/tts.h"

#include <sched.h>

/*
 * The owner's thread id, 0 for none. Relaxed throughout: no data is passed by it. A line of its
 * own, because every thread reads it before each transaction.
 */
static int owner __attribute__((aligned(64)));

enum {
    SPINS = 400, /* as long as for a lock before it is elided */
    /* Longer than a transaction that fits in the cache takes, and more where threads wait for
     * processors. Who opens it too early costs the owner another conflict. */
    YIELDS = 2000,
};

bool hourglass_admits(bool alone)
{
    int now = __atomic_load_n(&owner, __ATOMIC_RELAXED);

    if (now == 0)
        return !alone || __atomic_compare_exchange_n(&owner, &now, thread_id(), false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return now == thread_id();
}

/* Opens it, unless it has become another thread's. */
static void open_that_of(int thread)
{
    (void)__atomic_compare_exchange_n(&owner, &thread, 0, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

void hourglass_wait(void)
{
    int first = __atomic_load_n(&owner, __ATOMIC_RELAXED);

    for (int looks = 0; looks < SPINS + YIELDS; looks++) {
        if (__atomic_load_n(&owner, __ATOMIC_RELAXED) != first)
            return;
        if (looks < SPINS || tts_wait == TTS_WAIT_SPIN)
            spin_pause();
        else
            (void)sched_yield();
    }
    open_that_of(first);
}

void hourglass_open(void)
{
    if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == thread_id())
        open_that_of(thread_id());
}

void hourglass_after_fork(void)
{
    __atomic_store_n(&owner, 0, __ATOMIC_RELAXED);
}
