/*
 * SPDX-License-Identifier: MIT
 *
 * Random programs: threads move money between accounts whose mutexes are of all types, nested in
 * every way that cannot deadlock, wait for money on condition variables, and audit the whole bank.
 * Money is neither made nor lost, nobody waits for ever, and no audit sees a transfer half done.
 * Arguments: a seed; steps a thread takes.
 */
#include "elision_check.h"

#include "lock_families.h"

enum { ACCOUNTS = 9, THREADS = 4, START_MONEY = 100 };

/* C11's and POSIX's mutexes take part side by side. */
struct account {
    struct either lock;
    long money, payments;
    long books;  /* equal to money whenever the mutex is free */
    int waiting; /* threads that wait for the next payment */
} __attribute__((aligned(128)));

static struct account accounts[ACCOUNTS];

static void lock_account(struct account *account)
{
    CHECK_EQUAL(either_lock(&account->lock), 0);
}

static void unlock_account(struct account *account)
{
    CHECK_EQUAL(either_unlock(&account->lock), 0);
}

/* Waits a little. */
static bool lock_account_soon(struct account *account)
{
    struct timespec soon = time_from_now(CLOCK_REALTIME, 1);

    return either_lock_until(&account->lock, CLOCK_REALTIME, &soon) == 0;
}

static void move(struct account *from, struct account *to, long amount)
{
    from->money -= amount;
    to->books += amount;
    work(10); /* money is missing meanwhile, and the books are wrong */
    to->money += amount;
    from->books -= amount;
    to->payments++;
    if (to->waiting > 0)
        CHECK_EQUAL(either_signal(&to->lock), 0);
}

/* Both mutexes in the order of their addresses, the inner one in three ways; any order of unlock.
 */
static void transfer(uint64_t *random)
{
    struct account *from = &accounts[next_random(random) % ACCOUNTS];
    struct account *to = &accounts[next_random(random) % ACCOUNTS];
    struct account *first = from < to ? from : to, *second = from < to ? to : from;
    long amount = (long)(next_random(random) % 10);

    if (from == to)
        return;
    lock_account(first);
    switch (next_random(random) % 4) {
    case 0:
        if (either_trylock(&second->lock) != 0) {
            unlock_account(first);
            return;
        }
        break;
    case 1:
        if (!lock_account_soon(second)) {
            unlock_account(first);
            return;
        }
        break;
    default:
        lock_account(second);
        break;
    }
    bool whole = from->books == from->money && to->books == to->money;
    move(from, to, amount);
    if (next_random(random) % 16 == 0)
        CHECK(getppid() > 0); /* a system call in the middle */
    if (next_random(random) % 2) {
        unlock_account(first);
        unlock_account(second);
    } else {
        unlock_account(second);
        unlock_account(first);
    }
    CHECK(whole);
}

/* Takes one account after the other, holding all: deeper than transactions nest. */
static void audit(void)
{
    long sum = 0;

    for (int i = 0; i < ACCOUNTS; i++)
        lock_account(&accounts[i]);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].money;
    for (int i = 0; i < ACCOUNTS; i++)
        unlock_account(&accounts[i]);
    CHECK_EQUAL(sum, ACCOUNTS * START_MONEY);
}

/* The thread pay_the_waiting sees to it that there is always a next payment. */
static void wait_for_payment(uint64_t *random)
{
    struct account *account = &accounts[next_random(random) % ACCOUNTS];
    long before;

    lock_account(account);
    before = account->payments;
    account->waiting++;
    while (account->payments == before)
        CHECK_EQUAL(either_wait(&account->lock), 0);
    account->waiting--;
    unlock_account(account);
}

static uint64_t seed;
static int steps = 4000;

static void *live(void *argument)
{
    uint64_t random = seed + (uint64_t)(uintptr_t)argument * 1000003;

    for (int i = 0; i < steps; i++) {
        unsigned dice = next_random(&random) % 64;
        if (dice == 0)
            audit();
        else if (dice == 1)
            wait_for_payment(&random);
        else
            transfer(&random);
    }
    return NULL;
}

/* Moves a unit from the first account to each other and back until all threads are done. */
static bool done;

static void *pay_the_waiting(void *argument)
{
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        for (int i = 1; i < ACCOUNTS; i++) {
            lock_account(&accounts[0]);
            lock_account(&accounts[i]);
            move(&accounts[0], &accounts[i], 1);
            move(&accounts[i], &accounts[0], 1);
            unlock_account(&accounts[i]);
            unlock_account(&accounts[0]);
            sched_yield();
        }
    }
    return argument;
}

static void open_accounts(void)
{
    static const int types[] = {PTHREAD_MUTEX_DEFAULT,   PTHREAD_MUTEX_ADAPTIVE_NP,
                                PTHREAD_MUTEX_DEFAULT,   PTHREAD_MUTEX_NORMAL,
                                PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};

    for (int i = 0; i < ACCOUNTS; i++) {
        struct either *lock = &accounts[i].lock;

        accounts[i].money = accounts[i].books = START_MONEY;
        lock->is_c11 = i >= 6;
        if (lock->is_c11) {
            CHECK_EQUAL(mtx_init(&lock->mutex.c11, mtx_timed), thrd_success);
            CHECK_EQUAL(cnd_init(&lock->condition.c11), thrd_success);
        } else {
            make_mutex(&lock->mutex.posix, types[i]);
            CHECK_EQUAL(pthread_cond_init(&lock->condition.posix, NULL), 0);
        }
    }
}

int main(int argument_count, char **arguments)
{
    pthread_t threads[THREADS], payer;

    seed = take_seed(argument_count, arguments);
    if (argument_count > 2)
        steps = atoi(arguments[2]);
    open_accounts();
    start_counting();
    payer = start_thread(pay_the_waiting, NULL);
    for (long i = 0; i < THREADS; i++)
        threads[i] = start_thread(live, (void *)i);
    for (int i = 0; i < THREADS; i++)
        end_thread(threads[i]);
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    end_thread(payer);
    audit();
    CHECK_ELIDED(steps / 10);
    return 0;
}
