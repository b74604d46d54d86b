/*
 * SPDX-License-Identifier: MIT
 *
 * Acquisitions by the functions that TTSTLE_SKIP names are not elided, of no kind of lock; those of
 * other functions are, unless such an acquisition is inside them. Without the variable, and without
 * transactions, it only says that the sections do what they do.
 */
#include "elision_check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static long sections;

enum { ROUNDS = 20 };

/* Not exported: it is in the full symbol table alone. */
static __attribute__((noinline)) void lock_what_is_skipped(int round)
{
    int error = round % 5 == 0   ? pthread_mutex_lock(&mutex)
                : round % 5 == 1 ? pthread_mutex_trylock(&mutex)
                : round % 5 == 2 ? pthread_rwlock_rdlock(&rwlock)
                : round % 5 == 3 ? pthread_rwlock_wrlock(&rwlock)
                                 : pthread_spin_lock(&spin);
    sections++;
    CHECK_EQUAL(error, 0);
}

static __attribute__((noinline)) void lock_what_is_not(pthread_mutex_t *which)
{
    CHECK_EQUAL(pthread_mutex_lock(which), 0);
}

static void unlock(int round)
{
    CHECK_EQUAL(round % 5 < 2    ? pthread_mutex_unlock(&mutex)
                : round % 5 == 4 ? pthread_spin_unlock(&spin)
                                 : pthread_rwlock_unlock(&rwlock),
                0);
}

/* Where nothing is to be skipped there is nothing to be seen. */
static void check_none_elided(void)
{
    if (getenv("TTSTLE_SKIP") != NULL)
        CHECK_EQUAL(elided_since_start(), 0);
}

int main(void)
{
    CHECK_EQUAL(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);

    start_counting();
    for (int round = 0; round < ROUNDS; round++) {
        lock_what_is_skipped(round);
        unlock(round);
    }
    check_none_elided();

    start_counting();
    for (int round = 0; round < ROUNDS; round++) {
        lock_what_is_not(&mutex);
        sections++;
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    }
    CHECK_ELIDED(ROUNDS / 2);

    start_counting();
    for (int round = 0; round < ROUNDS; round++) {
        lock_what_is_not(&outer);
        lock_what_is_skipped(round);
        unlock(round);
        CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
    }
    check_none_elided();
    CHECK_EQUAL(sections, 3 * ROUNDS);
    return 0;
}
