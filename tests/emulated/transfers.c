/*
 * SPDX-License-Identifier: MIT
 *
 * Threads that move money between accounts at random, each transfer under an elided lock: no
 * interleaving may create or lose any. Other threads add up all accounts under the same lock and
 * must find the same sum every time.
 *
 *   transfers rtm|mutex [THREADS [TRANSFERS [SEED [SEEDS [WORK]]]]]
 *
 * rtm: one spin lock, elided by this program. mutex: pthread_mutex_lock, elided by who is preloaded
 * (two mutexes an account pair, so that sections nest).
 *
 * Under the emulator the same work is done once for each seed from SEED on, in one process. What
 * work it is, WORK decides, another seed; how the threads interleave, the seed alone. The last line
 * says how many different interleavings that were: each account remembers who changed it in which
 * order. Natively, where nobody can choose, a seed is no more than a repetition.
 */
#include "transaction.h"

#include "rtmgrind/rtmgrind.h"

enum { ACCOUNTS = 64, START = 1000, MOST_THREADS = 64, MOST_SEEDS = 100000, TRIES = 2 };

static struct {
    long money;
    uint64_t changed_by; /* whom, one after the other */
    pthread_mutex_t mutex;
} accounts[ACCOUNTS]; /* some of them share a line */

static int lock __attribute__((aligned(64)));
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static bool by_mutex;
static unsigned threads_count = 4, transfers = 400;
static uint64_t seed = 1; /* of the interleaving */
static unsigned finished; /* threads that have done their work */

static void acquire_lock(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

/* Elides the lock: reads it first, so that whoever takes it aborts this transaction. Gives up soon,
 * so that sections of both kinds meet. */
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

static void note(unsigned account, uint64_t who)
{
    accounts[account].changed_by = accounts[account].changed_by * 31 + who;
}

static void move(unsigned from, unsigned to, long amount, uint64_t who)
{
    long kept = accounts[from].money - amount;

    linger(amount % 4 * 5);
    accounts[from].money = kept;
    accounts[to].money += amount;
    note(from, who);
    note(to, who);
}

static long add_up(void)
{
    long sum = 0;

    for (unsigned i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].money;
    return sum;
}

static void transfer(unsigned from, unsigned to, long amount, uint64_t who)
{
    if (by_mutex) {
        /* The lower one first; `all` only keeps out those who add up. */
        unsigned low = from < to ? from : to, high = from < to ? to : from;

        EXPECT_EQUAL(pthread_mutex_lock(&all), 0);
        EXPECT_EQUAL(pthread_mutex_lock(&accounts[low].mutex), 0);
        if (low != high)
            EXPECT_EQUAL(pthread_mutex_lock(&accounts[high].mutex), 0);
        move(from, to, amount, who);
        if (low != high)
            EXPECT_EQUAL(pthread_mutex_unlock(&accounts[high].mutex), 0);
        EXPECT_EQUAL(pthread_mutex_unlock(&accounts[low].mutex), 0);
        EXPECT_EQUAL(pthread_mutex_unlock(&all), 0);
    } else {
        bool elided = enter();

        move(from, to, amount, who);
        leave(elided);
    }
}

static void expect_whole(long sum)
{
    if (sum == (long)ACCOUNTS * START)
        return;
    dprintf(STDERR_FILENO, "transfers: seed %llu: the sum is %ld instead of %ld\n",
            (unsigned long long)seed, sum, (long)ACCOUNTS * START);
    _exit(1);
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
    expect_whole(sum);
}

struct worker {
    uint64_t number; /* from 1 */
    uint64_t random;
};

static void *work(void *argument)
{
    struct worker me = *(struct worker *)argument;

    for (unsigned i = 0; i < transfers; i++) {
        uint64_t draw = next_random(&me.random);

        if (draw % 16 == 0)
            check_sum();
        else
            transfer((unsigned)(draw >> 8) % ACCOUNTS, (unsigned)(draw >> 16) % ACCOUNTS,
                     (long)(draw >> 24) % 100, me.number);
    }
    /* Nobody ends while others work: when the host is done with a thread is not for a seed to say.
     */
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != threads_count)
        sched_yield();
    return NULL;
}

/* All the work once. What is returned tells this interleaving from others. */
static uint64_t do_work(uint64_t work_seed)
{
    pthread_t threads[MOST_THREADS];
    struct worker workers[MOST_THREADS];
    uint64_t digest = 0;

    finished = 0;
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        accounts[i].money = START;
        accounts[i].changed_by = 0;
    }
    for (unsigned i = 0; i < threads_count; i++) {
        workers[i] = (struct worker){.number = i + 1, .random = next_random(&work_seed)};
        threads[i] = start_thread(work, &workers[i]);
    }
    for (unsigned i = 0; i < threads_count; i++)
        end_thread(threads[i]);
    expect_whole(add_up());
    for (unsigned i = 0; i < ACCOUNTS; i++)
        digest = (digest ^ accounts[i].changed_by) * 0x9e3779b97f4a7c15u;
    return digest;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static unsigned count_different(uint64_t *values, unsigned count)
{
    unsigned different = 0;

    qsort(values, count, sizeof(*values), compare);
    for (unsigned i = 0; i < count; i++)
        different += i == 0 || values[i] != values[i - 1];
    return different;
}

static uint64_t number_from(int count, char **arguments, int position, uint64_t otherwise)
{
    return count > position ? strtoull(arguments[position], NULL, 0) : otherwise;
}

int main(int count, char **arguments)
{
    static uint64_t digests[MOST_SEEDS];
    unsigned seeds = (unsigned)number_from(count, arguments, 5, 1);
    uint64_t work_seed = number_from(count, arguments, 6, 1), last_few = 0;
    enum { LAST_FEW = 10 };

    by_mutex = count > 1 && strcmp(arguments[1], "mutex") == 0;
    threads_count = (unsigned)number_from(count, arguments, 2, threads_count);
    transfers = (unsigned)number_from(count, arguments, 3, transfers);
    seed = seed_from(count, arguments, 4);
    EXPECT(threads_count >= 1 && threads_count <= MOST_THREADS);
    EXPECT(seeds >= 1 && seeds <= MOST_SEEDS);
    need_transactions();
    for (unsigned i = 0; i < ACCOUNTS; i++)
        EXPECT_EQUAL(pthread_mutex_init(&accounts[i].mutex, NULL), 0);
    /* Code, stacks and pages are there afterwards, so that the first seed finds them, too. */
    RTMGRIND_SEED(0);
    do_work(work_seed);
    for (unsigned i = 0; i < seeds; i++, seed++) {
        RTMGRIND_SEED(seed);
        digests[i] = do_work(work_seed);
    }
    for (unsigned i = seeds < LAST_FEW ? 0 : seeds - LAST_FEW; i < seeds; i++)
        last_few = (last_few ^ digests[i]) * 0x9e3779b97f4a7c15u;
    printf("%u seeds, %u different interleavings, the last few %016llx\n", seeds,
           count_different(digests, seeds), (unsigned long long)last_few);
    return 0;
}
