/*
 * SPDX-License-Identifier: MIT
 *
 * Threads that move money between accounts at random, each transfer under an elided lock: no
 * interleaving may create or lose any. Other threads add up all accounts under the same lock and
 * must find the same sum every time.
 *
 *   transfers rtm|mutex [THREADS [ROUNDS [SEED]]]
 *
 * rtm: one spin lock, elided by this program. mutex: pthread_mutex_lock, elided by who is preloaded
 * (two mutexes an account pair, so that sections nest).
 */
#include "transaction.h"

enum { ACCOUNTS = 64, START = 1000, MOST_THREADS = 64, TRIES = 8 };

static struct {
    long money;
    pthread_mutex_t mutex;
} accounts[ACCOUNTS]; /* some of them share a line */

static int lock __attribute__((aligned(64)));
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static bool by_mutex;
static unsigned rounds;

static void acquire_lock(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

/* Elides the lock: reads it first, so that whoever takes it aborts this transaction. */
static bool enter(void)
{
    for (int i = 0; i < TRIES; i++) {
        while (__atomic_load_n(&lock, __ATOMIC_RELAXED) != 0)
            sched_yield();
        if (begin() == STARTED) {
            if (__atomic_load_n(&lock, __ATOMIC_RELAXED) != 0)
                ABORT(0xff);
            return true;
        }
    }
    acquire_lock();
    return false;
}

static void leave(bool elided)
{
    if (elided)
        end();
    else
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void move(unsigned from, unsigned to, long amount)
{
    long kept = accounts[from].money - amount;

    linger(amount % 4 * 5);
    accounts[from].money = kept;
    accounts[to].money += amount;
}

static long add_up(void)
{
    long sum = 0;

    for (unsigned i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].money;
    return sum;
}

static void transfer(unsigned from, unsigned to, long amount)
{
    if (by_mutex) {
        /* The lower one first; `all` only keeps out those who add up. */
        unsigned low = from < to ? from : to, high = from < to ? to : from;

        EXPECT_EQUAL(pthread_mutex_lock(&all), 0);
        EXPECT_EQUAL(pthread_mutex_lock(&accounts[low].mutex), 0);
        if (low != high)
            EXPECT_EQUAL(pthread_mutex_lock(&accounts[high].mutex), 0);
        move(from, to, amount);
        if (low != high)
            EXPECT_EQUAL(pthread_mutex_unlock(&accounts[high].mutex), 0);
        EXPECT_EQUAL(pthread_mutex_unlock(&accounts[low].mutex), 0);
        EXPECT_EQUAL(pthread_mutex_unlock(&all), 0);
    } else {
        bool elided = enter();

        move(from, to, amount);
        leave(elided);
    }
}

static void check_sum(void)
{
    long sum;

    if (by_mutex) {
        EXPECT_EQUAL(pthread_mutex_lock(&all), 0);
        sum = add_up();
        EXPECT_EQUAL(pthread_mutex_unlock(&all), 0);
    } else {
        bool elided = enter();

        sum = add_up();
        leave(elided);
    }
    EXPECT_EQUAL(sum, (long)ACCOUNTS * START);
}

static void *work(void *argument)
{
    uint64_t random = *(uint64_t *)argument;

    for (unsigned i = 0; i < rounds; i++) {
        uint64_t draw = next_random(&random);

        if (draw % 16 == 0)
            check_sum();
        else
            transfer((unsigned)(draw >> 8) % ACCOUNTS, (unsigned)(draw >> 16) % ACCOUNTS,
                     (long)(draw >> 24) % 100);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[MOST_THREADS];
    uint64_t seeds[MOST_THREADS], random;
    unsigned threads_count = count > 2 ? (unsigned)atoi(arguments[2]) : 4;

    by_mutex = count > 1 && strcmp(arguments[1], "mutex") == 0;
    rounds = count > 3 ? (unsigned)atoi(arguments[3]) : 1000;
    EXPECT(threads_count >= 1 && threads_count <= MOST_THREADS);
    need_transactions();
    random = seed_from(count, arguments, 4);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        accounts[i].money = START;
        EXPECT_EQUAL(pthread_mutex_init(&accounts[i].mutex, NULL), 0);
    }
    for (unsigned i = 0; i < threads_count; i++) {
        seeds[i] = next_random(&random);
        threads[i] = start_thread(work, &seeds[i]);
    }
    for (unsigned i = 0; i < threads_count; i++)
        end_thread(threads[i]);
    EXPECT_EQUAL(add_up(), (long)ACCOUNTS * START);
    return 0;
}
