/*
 * SPDX-License-Identifier: MIT
 *
 * A thread that would sleep until a word changes, and a transaction that stores the value it waits
 * for and aborts: the word never had that value. Natively the thread does not even go to sleep.
 * The emulator cannot keep the host's kernel from seeing the store; it has to wake the thread.
 */
#include "transaction.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static uint32_t word __attribute__((aligned(64)));
static int operation;
static unsigned rounds, woken; /* calls that returned; those that did because of a wake-up */
static bool over;

static void *wait_for_one(void *unused)
{
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        long result = syscall(SYS_futex, &word, operation, 1, NULL, NULL, FUTEX_BITSET_MATCH_ANY);

        EXPECT(result == 0 ? is_emulated() : errno == EAGAIN);
        __atomic_fetch_add(&woken, result == 0, __ATOMIC_RELEASE);
        __atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static void store_one_and_abort(void *unused)
{
    (void)unused;
    word = 1;
    linger(3000);
    ABORT(1);
}

static bool seen_enough(void)
{
    const unsigned *count = is_emulated() ? &woken : &rounds;

    return __atomic_load_n(count, __ATOMIC_ACQUIRE) >= ROUNDS;
}

static void nobody_sleeps_on_for_a_store_that_was_undone(int with_operation)
{
    operation = with_operation;
    rounds = woken = 0;
    over = false;
    pthread_t thread = start_thread(wait_for_one, NULL);

    /* However long that takes: how often the waiter gets a CPU in time is the machine's affair. */
    for (int i = 0; !seen_enough(); i++) {
        EXPECT(attempt(store_one_and_abort, NULL) != STARTED);
        EXPECT_EQUAL(word, 0);
        if (i % 100 == 99)
            usleep(1000); /* the waiter needs a CPU, which others may have */
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    end_thread(thread);
}

int main(void)
{
    need_transactions();
    nobody_sleeps_on_for_a_store_that_was_undone(FUTEX_WAIT_PRIVATE);
    nobody_sleeps_on_for_a_store_that_was_undone(FUTEX_WAIT);
    nobody_sleeps_on_for_a_store_that_was_undone(FUTEX_WAIT_BITSET_PRIVATE);
    return 0;
}
