/*
 * SPDX-License-Identifier: MIT
 *
 * Mutual exclusion with more threads than CPUs, through every way to lock, for the four types, with
 * nesting, hand-over-hand locking, and mutexes that are unmapped right after their last unlock.
 */
#include "lock_check.h"

#include <sched.h>
#include <sys/mman.h>

enum { THREADS = 6, ROUNDS = 1500, LINKS = 4 };

/* Everything in here is plain data: only the lock keeps it right. */
static struct {
    pthread_mutex_t mutex;
    int inside;
    long counted;
    int recursive;
} shared;

static void take(unsigned way)
{
    struct timespec far;

    switch (way % 4) {
    case 0:
        CHECK_EQUAL(pthread_mutex_lock(&shared.mutex), 0);
        break;
    case 1:
        for (int error; (error = pthread_mutex_trylock(&shared.mutex)) != 0; sched_yield())
            CHECK_EQUAL(error, EBUSY);
        break;
    case 2:
        far = time_from_now(CLOCK_REALTIME, 1000000);
        CHECK_EQUAL(pthread_mutex_timedlock(&shared.mutex, &far), 0);
        break;
    case 3:
        far = time_from_now(CLOCK_MONOTONIC, 1000000);
        CHECK_EQUAL(pthread_mutex_clocklock(&shared.mutex, CLOCK_MONOTONIC, &far), 0);
        break;
    }
}

static void *enter_often(void *seed)
{
    unsigned way = (unsigned)(long)seed;

    for (int i = 0; i < ROUNDS; i++) {
        take(way + (unsigned)i);
        CHECK_EQUAL(shared.inside++, 0);
        if (shared.recursive) {
            CHECK_EQUAL(pthread_mutex_lock(&shared.mutex), 0);
            CHECK_EQUAL(pthread_mutex_trylock(&shared.mutex), 0);
            CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
            CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
        }
        shared.counted++;
        if (i % 64 == 0)
            sched_yield(); /* a system call, and a holder that does not run */
        shared.inside--;
        CHECK_EQUAL(pthread_mutex_unlock(&shared.mutex), 0);
    }
    return NULL;
}

static void run_threads(void *(*function)(void *))
{
    pthread_t threads[THREADS];

    for (long i = 0; i < THREADS; i++)
        threads[i] = start_thread(function, (void *)i);
    for (int i = 0; i < THREADS; i++)
        end_thread(threads[i]);
}

static void check_exclusion(int type)
{
    make_mutex(&shared.mutex, type);
    shared.recursive = type == PTHREAD_MUTEX_RECURSIVE;
    shared.counted = 0;
    run_threads(enter_often);
    CHECK_EQUAL(shared.counted, (long)THREADS * ROUNDS);
    CHECK_EQUAL(pthread_mutex_destroy(&shared.mutex), 0);
}

/* A chain walked hand over hand: no thread overtakes another, each link is locked while counted. */
static struct link {
    pthread_mutex_t mutex;
    long visits;
} chain[LINKS];

static void *walk_chain(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&chain[0].mutex), 0);
        for (int at = 0; at < LINKS; at++) {
            chain[at].visits++;
            if (at + 1 < LINKS)
                CHECK_EQUAL(pthread_mutex_lock(&chain[at + 1].mutex), 0);
            CHECK_EQUAL(pthread_mutex_unlock(&chain[at].mutex), 0);
        }
    }
    return argument;
}

static void check_hand_over_hand(void)
{
    for (int i = 0; i < LINKS; i++)
        CHECK_EQUAL(pthread_mutex_init(&chain[i].mutex, NULL), 0);
    run_threads(walk_chain);
    for (int i = 0; i < LINKS; i++) {
        CHECK_EQUAL(chain[i].visits, (long)THREADS * ROUNDS);
        CHECK_EQUAL(pthread_mutex_destroy(&chain[i].mutex), 0);
    }
}

/*
 * Two users of an object; whoever leaves last destroys and unmaps it. The first one's unlock may
 * still be running then, and must not touch the mutex after it has let the other in.
 */
struct object {
    pthread_mutex_t mutex;
    int users;
};

static void *use_and_leave(void *argument)
{
    struct object *object = argument;

    CHECK_EQUAL(pthread_mutex_lock(&object->mutex), 0);
    bool last = --object->users == 0;
    CHECK_EQUAL(pthread_mutex_unlock(&object->mutex), 0);
    if (last) {
        CHECK_EQUAL(pthread_mutex_destroy(&object->mutex), 0);
        CHECK_EQUAL(munmap(object, 4096), 0);
    }
    return NULL;
}

static struct object *new_object(void)
{
    struct object *object =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(object != MAP_FAILED);
    CHECK_EQUAL(pthread_mutex_init(&object->mutex, NULL), 0);
    object->users = 2;
    return object;
}

static void check_unmapped_after_unlock(void)
{
    for (int i = 0; i < 300; i++) {
        struct object *object = new_object();
        pthread_t other = start_thread(use_and_leave, object);
        use_and_leave(object);
        end_thread(other);
    }
}

/*
 * The same with the race decided: both run on one CPU, the first one with idle priority, so that
 * the second, asleep in lock, runs from the moment that the unlock wakes it, unmaps the page, and
 * only then lets the first one come back out of its unlock. Waits that never sleep leave out the
 * priority.
 */
static void *wake_the_other(void *argument)
{
    struct object *object = argument;
    const struct timespec pause = {.tv_nsec = 50000};
    const struct sched_param none = {.sched_priority = 0};

    for (int i = 0; i < 40; i++) {
        if (__atomic_load_n(&object->mutex.__data.__lock, __ATOMIC_RELAXED) == 2) {
            CHECK_EQUAL(pthread_setschedparam(pthread_self(), SCHED_IDLE, &none), 0);
            break;
        }
        nanosleep(&pause, NULL);
    }
    object->users--;
    CHECK_EQUAL(pthread_mutex_unlock(&object->mutex), 0);
    return NULL;
}

static void *lock_wait_and_unlock(void *argument)
{
    struct object *object = argument;

    CHECK_EQUAL(pthread_mutex_lock(&object->mutex), 0);
    pthread_t other = start_thread(use_and_leave, object);
    wake_the_other(object);
    end_thread(other);
    return NULL;
}

static void check_unmapped_by_the_one_just_woken(void)
{
    cpu_set_t before, one;
    int cpu = sched_getcpu();

    CHECK_EQUAL(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < 30; i++)
        elsewhere(lock_wait_and_unlock, new_object());
    CHECK_EQUAL(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    check_exclusion(PTHREAD_MUTEX_DEFAULT);
    check_exclusion(PTHREAD_MUTEX_NORMAL);
    check_exclusion(PTHREAD_MUTEX_ADAPTIVE_NP);
    check_exclusion(PTHREAD_MUTEX_RECURSIVE);
    check_exclusion(PTHREAD_MUTEX_ERRORCHECK);
    check_hand_over_hand();
    check_unmapped_after_unlock();
    check_unmapped_by_the_one_just_woken();
    return 0;
}
