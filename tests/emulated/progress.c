/*
 * SPDX-License-Identifier: MIT
 *
 * Nobody starves: busy threads advance side by side, whoever waits gets what he waits for, and a
 * transaction gets through whoever is in its way. Hardware promises the last of that to nobody, so
 * natively it is not asked for. Bounds are numbers of rounds and attempts, never times.
 */
#include "transaction.h"

enum { LINE = 64, LINES = 32, TIME_SLICE = 100000, MOST_THREADS = 8 };

static struct {
    long value;
} __attribute__((aligned(LINE))) lines[LINES], flag, counter, progress[MOST_THREADS];

/* Being called it keeps loops from being unrolled: each round is some blocks of code. */
static __attribute__((noinline)) long load(const long *from)
{
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

static void store(long *to, long value)
{
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static void *raise_flag(void *unused)
{
    linger(1000);
    store(&flag.value, 1);
    return unused;
}

static void who_spins_without_a_pause_does_not_hold_up_whom_he_waits_for(void)
{
    store(&flag.value, 0);
    pthread_t thread = start_thread(raise_flag, NULL);
    long rounds = 0;

    while (load(&flag.value) == 0) /* on one processor, this burns a time slice */
        rounds++;
    EXPECT(!is_emulated() || rounds < 3 * TIME_SLICE);
    end_thread(thread);
}

/* A lap is a long way in turns of the schedule, also where threads share a processor. */
enum { LAP = 10 * TIME_SLICE };

static void *run_a_lap(void *argument)
{
    long *mine = argument;

    while (load(&flag.value) == 0 && *mine < LAP)
        store(mine, *mine + 1);
    store(&flag.value, 1);
    return NULL;
}

static void busy_threads_advance_side_by_side(int threads_count)
{
    pthread_t threads[MOST_THREADS];

    store(&flag.value, 0);
    for (int i = 0; i < threads_count; i++) {
        store(&progress[i].value, 0);
        threads[i] = start_thread(run_a_lap, &progress[i].value);
    }
    for (int i = 0; i < threads_count; i++)
        end_thread(threads[i]);
    for (int i = 0; i < threads_count; i++)
        EXPECT(!is_emulated() || progress[i].value >= LAP / 4);
}

static void *disturb(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    while (load(&flag.value) == 0)
        store(&lines[next_random(&random) % LINES].value, 1);
    return NULL;
}

static void read_all_and_linger(void *sum)
{
    for (int i = 0; i < LINES; i++)
        *(long *)sum += lines[i].value;
    linger(2000);
}

static void a_long_transaction_gets_through_against_plain_stores(void)
{
    enum { WRITERS = 3, COMMITS = 5, ATTEMPTS_MOST = 300 };
    pthread_t writers[WRITERS];
    long sum = 0;

    store(&flag.value, 0);
    for (uintptr_t i = 0; i < WRITERS; i++)
        writers[i] = start_thread(disturb, (void *)i);
    for (int i = 0; i < COMMITS; i++) {
        int attempts_made = 1;

        while (attempt(read_all_and_linger, &sum) != STARTED)
            EXPECT(attempts_made++ < ATTEMPTS_MOST);
    }
    store(&flag.value, 1);
    for (int i = 0; i < WRITERS; i++)
        end_thread(writers[i]);
}

static void add_early_and_linger(void *steps)
{
    counter.value++;
    linger(*(unsigned *)steps);
}

/* As many as the argument says, each a transaction whose line all others want, too. */
enum { ADDITIONS = 10 };

static void *add_ten(void *steps)
{
    enum { ATTEMPTS_MOST = 300 };

    for (int i = 0; i < ADDITIONS; i++) {
        int attempts_made = 1;

        while (attempt(add_early_and_linger, steps) != STARTED)
            EXPECT(attempts_made++ < ATTEMPTS_MOST);
    }
    return NULL;
}

static void long_transactions_that_all_want_one_line_all_get_through(int threads_count)
{
    pthread_t threads[MOST_THREADS];
    unsigned steps = 3000;

    counter.value = 0;
    for (int i = 0; i < threads_count; i++)
        threads[i] = start_thread(add_ten, &steps);
    for (int i = 0; i < threads_count; i++)
        end_thread(threads[i]);
    EXPECT_EQUAL(counter.value, threads_count * ADDITIONS);
}

static void *add_shortly(void *unused)
{
    unsigned steps = 0;

    while (load(&flag.value) == 0)
        (void)attempt(add_early_and_linger, &steps);
    return unused;
}

static void a_long_transaction_gets_through_among_short_ones(void)
{
    enum { SHORT_ONES = 3 };
    pthread_t threads[SHORT_ONES];
    unsigned steps = 3000;

    store(&flag.value, 0);
    for (int i = 0; i < SHORT_ONES; i++)
        threads[i] = start_thread(add_shortly, NULL);
    add_ten(&steps);
    store(&flag.value, 1);
    for (int i = 0; i < SHORT_ONES; i++)
        end_thread(threads[i]);
}

static void wait_for_the_flag(void *ready)
{
    store(ready, 1);
    while (flag.value == 0)
        __asm__ volatile("" : : : "memory");
}

/* Loses often, which makes the emulator leave it alone, and then waits in its transaction for what
 * only another thread can do. That one's store ends it. */
static void *lose_and_wait(void *unused)
{
    unsigned steps = 3000;
    long ready = 0;
    int lost = 0;

    while (lost < 150 && attempt(add_early_and_linger, &steps) != STARTED)
        lost++;
    while (load(&flag.value) == 0)
        (void)attempt(wait_for_the_flag, &ready);
    return unused;
}

static void who_waits_in_a_transaction_does_not_hold_up_whom_he_waits_for(void)
{
    store(&flag.value, 0);
    pthread_t thread = start_thread(lose_and_wait, NULL);
    unsigned steps = 0;

    for (int i = 0; i < 20000; i++)
        (void)attempt(add_early_and_linger, &steps);
    store(&flag.value, 1);
    end_thread(thread);
}

int main(void)
{
    need_transactions();
    memset(lines, 1, sizeof(lines));
    who_spins_without_a_pause_does_not_hold_up_whom_he_waits_for();
    for (int threads = 2; threads <= MOST_THREADS; threads *= 2)
        busy_threads_advance_side_by_side(threads);
    who_waits_in_a_transaction_does_not_hold_up_whom_he_waits_for();
    if (!is_emulated())
        return 0;
    a_long_transaction_gets_through_against_plain_stores();
    for (int threads = 2; threads <= MOST_THREADS; threads *= 2)
        long_transactions_that_all_want_one_line_all_get_through(threads);
    a_long_transaction_gets_through_among_short_ones();
    return 0;
}
