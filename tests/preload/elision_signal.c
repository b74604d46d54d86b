/*
 * SPDX-License-Identifier: MIT
 *
 * Signals and sections: handlers that lock a mutex of their own, that find a section's invariant
 * whole or its mutex busy, that post a semaphore, that leave by siglongjmp.
 */
#include "elision_check.h"

#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

static void on_signal(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
}

static struct {
    pthread_mutex_t mutex;
    long one, other; /* equal whenever the mutex is free */
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Only handlers lock this one. */
static pthread_mutex_t handlers_own = PTHREAD_MUTEX_INITIALIZER;
static long handled;
static sem_t posted;

static void look_at_shared(int number)
{
    int saved = errno;

    (void)number;
    CHECK_EQUAL(pthread_mutex_lock(&handlers_own), 0);
    handled++;
    CHECK_EQUAL(pthread_mutex_unlock(&handlers_own), 0);
    if (pthread_mutex_trylock(&shared.mutex) == 0) {
        bool whole = shared.one == shared.other;
        CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
        CHECK(whole);
    }
    CHECK_EQUAL(sem_post(&posted), 0);
    errno = saved;
}

/* ---- signals at any moment of elided sections ---- */

static bool running;

static void *change_shared(void *argument)
{
    long *sections = argument;
    bool whole = true;

    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        CHECK_EQUAL(pthread_mutex_lock(&shared.mutex), 0);
        whole &= shared.one == shared.other;
        shared.one++;
        work(100);
        shared.other++;
        CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
        CHECK(whole);
        ++*sections;
    }
    return NULL;
}

static void handlers_see_a_whole_state_or_a_busy_mutex(void)
{
    enum { THREADS = 2, SIGNALS = 300 };
    long sections[THREADS] = {0}, sum = 0;
    pthread_t threads[THREADS];

    on_signal(SIGUSR1, look_at_shared);
    start_counting();
    running = true;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_thread(change_shared, &sections[i]);
    for (int i = 0; i < SIGNALS; i++) {
        CHECK_EQUAL(pthread_kill(threads[i % THREADS], SIGUSR1), 0);
        while (sem_wait(&posted) != 0) /* the handler has run */
            CHECK_EQUAL(errno, EINTR);
    }
    __atomic_store_n(&running, false, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        end_thread(threads[i]);
        sum += sections[i];
    }
    CHECK_EQUAL(handled, SIGNALS);
    CHECK_EQUAL(shared.one, sum);
    CHECK_EQUAL(shared.other, sum);
    CHECK_ELIDED(SIGNALS); /* the handlers' own sections at least */
}

/* ---- signals raised inside a section ---- */

static int trylock_in_handler;

static void try_shared(int number)
{
    (void)number;
    trylock_in_handler = pthread_mutex_trylock(&shared.mutex);
    CHECK_EQUAL(sem_post(&posted), 0);
}

static void a_handler_inside_a_section_finds_its_mutex_busy(void)
{
    on_signal(SIGUSR2, try_shared);
    for (int i = 0; i < 50; i++) {
        trylock_in_handler = 0;
        CHECK_EQUAL(pthread_mutex_lock(&shared.mutex), 0);
        CHECK_EQUAL(raise(SIGUSR2), 0);
        CHECK_EQUAL(trylock_in_handler, EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
        CHECK_EQUAL(sem_wait(&posted), 0);
    }
}

/* ---- semaphores ---- */

static void *wait_for_posts(void *argument)
{
    for (long i = 0; i < (long)argument; i++)
        CHECK_EQUAL(sem_wait(&posted), 0);
    return NULL;
}

static void each_post_from_inside_a_section_arrives(void)
{
    enum { POSTS = 500 };
    pthread_t waiter = start_thread(wait_for_posts, (void *)(long)POSTS);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    for (int i = 0; i < POSTS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        CHECK_EQUAL(sem_post(&posted), 0);
        work((unsigned)i % 50);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        if (i % 20 == 0)
            sched_yield(); /* the waiter falls asleep now and then */
    }
    end_thread(waiter);
}

/* ---- siglongjmp ---- */

static sigjmp_buf way_out;

static void jump_out(int number)
{
    (void)number;
    siglongjmp(way_out, 1);
}

static void *try_it(void *mutex)
{
    int result = pthread_mutex_trylock(mutex);

    if (result == 0)
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    return (void *)(long)result;
}

static void a_section_left_by_siglongjmp_still_holds_its_mutex(void)
{
    on_signal(SIGUSR2, jump_out);
    for (int i = 0; i < 50; i++) {
        volatile bool inside = false;
        if (sigsetjmp(way_out, 1) == 0) {
            CHECK_EQUAL(pthread_mutex_lock(&shared.mutex), 0);
            inside = true;
            CHECK_EQUAL(raise(SIGUSR2), 0);
            CHECK(!"reached");
        }
        CHECK(inside);
        CHECK_EQUAL((long)elsewhere(try_it, &shared.mutex), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
        CHECK_EQUAL((long)elsewhere(try_it, &shared.mutex), 0);
    }
}

int main(void)
{
    CHECK_EQUAL(sem_init(&posted, 0, 0), 0);
    handlers_see_a_whole_state_or_a_busy_mutex();
    a_handler_inside_a_section_finds_its_mutex_busy();
    each_post_from_inside_a_section_arrives();
    a_section_left_by_siglongjmp_still_holds_its_mutex();
    return 0;
}
