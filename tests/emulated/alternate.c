/*
 * SPDX-License-Identifier: MIT
 *
 * How closely do threads interleave? Each of them notes itself in one word whenever it finds
 * another's number there; the last line of output is how often that was. For schedule.sh, which
 * compares what the emulator's options make of it.
 *
 *   alternate THREADS ROUNDS
 */
#include "transaction.h"

enum { MOST_THREADS = 64 };

static uint64_t last, changes;
static unsigned long rounds;
static unsigned threads_count = 2, finished;

static void *look(void *argument)
{
    uint64_t me = (uintptr_t)argument;

    for (unsigned long i = 0; i < rounds; i++) {
        if (__atomic_load_n(&last, __ATOMIC_RELAXED) != me) {
            __atomic_store_n(&last, me, __ATOMIC_RELAXED);
            __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
        }
        linger(2);
    }
    /* Nobody ends while others work: when the host is done with a thread is not for a seed to say.
     */
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != threads_count)
        sched_yield();
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[MOST_THREADS];

    threads_count = count > 1 ? (unsigned)atoi(arguments[1]) : threads_count;
    rounds = count > 2 ? strtoul(arguments[2], NULL, 0) : 10000;
    EXPECT(threads_count >= 1 && threads_count <= MOST_THREADS);
    for (uintptr_t i = 0; i < threads_count; i++)
        threads[i] = start_thread(look, (void *)(i + 1));
    for (unsigned i = 0; i < threads_count; i++)
        end_thread(threads[i]);
    printf("%llu\n", (unsigned long long)changes);
    return 0;
}
