/*
 * SPDX-License-Identifier: MIT
 *
 * What is a conflict, and what comes after one: a transaction asks another thread to commit one
 * while it runs. One claim each: tm_conflicts CLAIM, those about a contention manager with
 * TM_CONTENTION set.
 */
#include "expect.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define PURE __attribute__((transaction_pure, noinline))
#define SAFE __attribute__((transaction_safe))

/* Of the library: 2 in an irrevocable transaction, during which the other thread cannot commit. */
int _ITM_inTransaction(void) PURE;

/* The commits that were asked for, and those that were made. */
static long asked;
static long other __attribute__((aligned(128)));
static long mine __attribute__((aligned(128)));
static int stop, attempts;

static void *commit_when_asked(void *nothing)
{
    for (long made = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE);) {
        if (made == __atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
            sched_yield();
            continue;
        }
        __transaction_atomic
        {
            other++;
        }
        made++;
    }
    return nothing;
}

PURE static void begin_attempt(void)
{
    attempts++;
}

/* Looks at memory itself: a commit returns only when the transaction that asks has gone on. */
PURE static int is_made(void)
{
    return __atomic_load_n(&other, __ATOMIC_ACQUIRE) == asked;
}

PURE static void ask(void)
{
    __atomic_add_fetch(&asked, 1, __ATOMIC_RELEASE);
    while (!is_made())
        sched_yield();
}

/* Has the other thread commit, in each of the first attempts, as far as it can. */
PURE static void let_other_commit(int first_attempts)
{
    if (attempts > first_attempts || _ITM_inTransaction() == 2)
        return;
    ask();
}

static pthread_t start_other(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, commit_when_asked, NULL);
    ask();
    return thread;
}

static void end_other(pthread_t thread)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

SAFE __attribute__((noipa)) static void fill(long *values, int count, long value)
{
    for (int i = 0; i < count; i++)
        values[i] = value;
}

SAFE __attribute__((noipa)) static long sum(const long *values, int count)
{
    long total = 0;

    for (int i = 0; i < count; i++)
        total += values[i];
    return total;
}

SAFE __attribute__((noipa)) static long one_frame(long value)
{
    long values[16];

    fill(values, 16, value);
    return sum(values, 16);
}

static void what_functions_keep_on_the_stack_is_no_conflict(void)
{
    pthread_t thread = start_other();
    long got = 0;

    __transaction_atomic
    {
        begin_attempt();
        got = one_frame(1) + one_frame(2);
        mine++;
        let_other_commit(1);
        got += mine;
    }
    EXPECT(attempts == 1 && got == 49);
    end_other(thread);
}

/* gcc knows that it keeps no pointer. */
SAFE __attribute__((noinline)) static void add(long *to, long value)
{
    *to += value;
}

static void what_a_transaction_does_to_its_new_block_is_no_conflict(void)
{
    pthread_t thread = start_other();
    long got = 0;

    __transaction_atomic
    {
        long *block = malloc(16 * sizeof *block);

        begin_attempt();
        block[0] = 1;
        add(block, 2);
        block[0] += 20;
        mine++;
        let_other_commit(1);
        got = mine;
        add(block, 25);
        got += block[0];
    }
    EXPECT(attempts == 1 && got == 49);
    end_other(thread);
}

/* ---- memory that is taken out of what threads share ---- */

enum { BIG = 1 << 20 }; /* the kernel gets it back when it is freed */

static long *shared, *taken;
static int ready, take_it, looked, seen;

/* A thread's first transaction waits for those that run: it has one before. */
static void wait_to_take(void)
{
    __transaction_atomic
    {
        other++;
    }
    __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&take_it, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void wait_until_ready(int threads)
{
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != threads)
        sched_yield();
}

static void *take_and_free(void *nothing)
{
    long *mine_now;

    wait_to_take();
    __transaction_atomic
    {
        mine_now = shared;
        shared = NULL;
    }
    if (mine_now != NULL)
        free(mine_now);
    return nothing;
}

/* Has it taken out, and gives it time to be freed if nothing waits for this transaction. */
PURE static void let_it_be_taken(void)
{
    if (__atomic_exchange_n(&take_it, 1, __ATOMIC_ACQ_REL) || _ITM_inTransaction() == 2)
        return;
    while (__atomic_load_n(&shared, __ATOMIC_ACQUIRE) != NULL)
        sched_yield();
    usleep(20000);
}

static void memory_is_freed_when_no_transaction_can_read_it(void)
{
    pthread_t thread;
    long got = 0;

    shared = calloc(1, BIG);
    pthread_create(&thread, NULL, take_and_free, NULL);
    wait_until_ready(1);
    mine = 1;
    __transaction_atomic
    {
        long *block = shared;

        let_it_be_taken();
        got = block == NULL ? mine : block[BIG / 16] + mine;
    }
    pthread_join(thread, NULL);
    EXPECT(got == 1);
}

static void *take_out(void *nothing)
{
    wait_to_take();
    __transaction_atomic
    {
        shared = NULL;
    }
    return nothing;
}

/* Only reads, and so finds out that the block is its own. */
static void *find_private(void *nothing)
{
    long *now;

    wait_to_take();
    do {
        __transaction_atomic
        {
            now = shared;
        }
    } while (now != NULL);
    seen = (int)*(volatile long *)taken;
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    return nothing;
}

PURE static void let_it_be_found(void)
{
    if (__atomic_exchange_n(&take_it, 1, __ATOMIC_ACQ_REL) || _ITM_inTransaction() == 2)
        return;
    for (int look = 0; look < 50 && !__atomic_load_n(&looked, __ATOMIC_ACQUIRE); look++)
        usleep(1000);
}

static void what_a_reader_finds_private_is_written_to_by_no_other(void)
{
    pthread_t threads[2];

    taken = shared = calloc(1, sizeof *shared);
    pthread_create(&threads[0], NULL, take_out, NULL);
    pthread_create(&threads[1], NULL, find_private, NULL);
    wait_until_ready(2);
    __transaction_atomic
    {
        if (shared != NULL) {
            *shared = 1;
            let_it_be_found();
            *shared = 2;
        }
    }
    __atomic_store_n(&take_it, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    EXPECT(seen == *taken && seen != 1);
    free(taken);
}

/* ---- contention managers ---- */

static int looked_for_others, others_while_alone;

/*
 * Whether the other thread's transaction still begins: it has time enough. In that attempt or a
 * later one: the other's last commit may be seen, and in the way, before it has ended.
 */
PURE static void look_for_others(int attempt)
{
    if (attempt == 0 || attempts < attempt || looked_for_others || _ITM_inTransaction() == 2)
        return;
    looked_for_others = 1;
    __atomic_add_fetch(&asked, 1, __ATOMIC_RELEASE);
    usleep(20000);
    others_while_alone = is_made();
}

static void abort_until(int first_attempts, int looked_at)
{
    pthread_t thread = start_other();

    __transaction_atomic
    {
        begin_attempt();
        mine = other;
        let_other_commit(first_attempts);
        look_for_others(looked_at);
        mine += other;
    }
    end_other(thread);
}

static void serialise_runs_a_transaction_alone_after_100_aborts_in_a_row(void)
{
    abort_until(150, 0);
    EXPECT(attempts == 101);
}

static void hourglass_lets_no_other_begin_after_128_aborts_in_a_row(void)
{
    abort_until(128, 129);
    EXPECT(looked_for_others && !others_while_alone);
}

static void none_goes_on_as_before(void)
{
    abort_until(600, 0);
    EXPECT(attempts >= 601);
}

static void backoff_runs_a_transaction_alone_after_500_aborts_in_a_row(void)
{
    abort_until(600, 0);
    EXPECT(attempts == 501);
}

static const struct claim claims[] = {
    CLAIM(what_functions_keep_on_the_stack_is_no_conflict),
    CLAIM(what_a_transaction_does_to_its_new_block_is_no_conflict),
    CLAIM(memory_is_freed_when_no_transaction_can_read_it),
    CLAIM(what_a_reader_finds_private_is_written_to_by_no_other),
};

/* Run with a contention manager set. */
static const struct claim manager_claims[] = {
    {"serialise_runs_a_transaction_alone_after_100_aborts_in_a_row",
     serialise_runs_a_transaction_alone_after_100_aborts_in_a_row},
    {"hourglass_lets_no_other_begin_after_128_aborts_in_a_row",
     hourglass_lets_no_other_begin_after_128_aborts_in_a_row},
    {"none_goes_on_as_before", none_goes_on_as_before},
    {"backoff_runs_a_transaction_alone_after_500_aborts_in_a_row",
     backoff_runs_a_transaction_alone_after_500_aborts_in_a_row},
};

int main(int argc, char **argv)
{
    if (argc == 2 && getenv("TM_CONTENTION") != NULL)
        return run_claim(argc, argv, manager_claims, sizeof manager_claims / sizeof *claims);
    return run_claim(argc, argv, claims, sizeof claims / sizeof *claims);
}
