/*
 * SPDX-License-Identifier: MIT
 *
 * Condition variables of the C library on our mutexes: no wake-up is lost with signal or broadcast,
 * waits time out not before their deadline and return with the mutex held, for the four types.
 * A lost wake-up shows as a hang, which the test's time-out reports.
 */
#include "lock_check.h"

enum { SLOTS = 4, WORKERS = 3, ITEMS = 1500 };

/* A bounded queue; both conditions are waited for in each of the three ways. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_full, not_empty;
    int items[SLOTS];
    int count, first;
    bool broadcasts;
    long got, sum;
} queue;

static void wait_for(pthread_cond_t *condition, int way)
{
    struct timespec far;

    switch (way % 3) {
    case 0:
        CHECK_EQUAL(pthread_cond_wait(condition, &queue.mutex), 0);
        break;
    case 1:
        far = time_from_now(CLOCK_REALTIME, 1000000);
        CHECK_EQUAL(pthread_cond_timedwait(condition, &queue.mutex, &far), 0);
        break;
    case 2:
        far = time_from_now(CLOCK_MONOTONIC, 1000000);
        CHECK_EQUAL(pthread_cond_clockwait(condition, &queue.mutex, CLOCK_MONOTONIC, &far), 0);
        break;
    }
}

static void tell(pthread_cond_t *condition)
{
    CHECK_EQUAL(
        queue.broadcasts ? pthread_cond_broadcast(condition) : pthread_cond_signal(condition), 0);
}

static void *produce(void *argument)
{
    for (int i = 1; i <= ITEMS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&queue.mutex), 0);
        while (queue.count == SLOTS)
            wait_for(&queue.not_full, i);
        queue.items[(queue.first + queue.count++) % SLOTS] = i;
        if (i % 2 == 0)
            tell(&queue.not_empty); /* inside the section */
        CHECK_EQUAL(pthread_mutex_unlock(&queue.mutex), 0);
        if (i % 2 != 0)
            tell(&queue.not_empty); /* after it */
    }
    return argument;
}

static void *consume(void *argument)
{
    for (int i = 1; i <= ITEMS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&queue.mutex), 0);
        while (queue.count == 0)
            wait_for(&queue.not_empty, i);
        queue.sum += queue.items[queue.first];
        queue.first = (queue.first + 1) % SLOTS;
        queue.count--;
        queue.got++;
        tell(&queue.not_full);
        CHECK_EQUAL(pthread_mutex_unlock(&queue.mutex), 0);
    }
    return argument;
}

static void check_queue(int type, bool broadcasts)
{
    pthread_t producers[WORKERS], consumers[WORKERS];

    memset(&queue, 0, sizeof queue);
    make_mutex(&queue.mutex, type);
    CHECK_EQUAL(pthread_cond_init(&queue.not_full, NULL), 0);
    CHECK_EQUAL(pthread_cond_init(&queue.not_empty, NULL), 0);
    queue.broadcasts = broadcasts;
    for (int i = 0; i < WORKERS; i++) {
        producers[i] = start_thread(produce, NULL);
        consumers[i] = start_thread(consume, NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        end_thread(producers[i]);
        end_thread(consumers[i]);
    }
    CHECK_EQUAL(queue.got, (long)WORKERS * ITEMS);
    CHECK_EQUAL(queue.sum, (long)WORKERS * ITEMS * (ITEMS + 1) / 2);
    CHECK_EQUAL(pthread_cond_destroy(&queue.not_full), 0);
    CHECK_EQUAL(pthread_cond_destroy(&queue.not_empty), 0);
    CHECK_EQUAL(pthread_mutex_destroy(&queue.mutex), 0);
}

static void *try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_trylock(mutex);
}

static void check_time_outs(int type)
{
    pthread_mutex_t mutex;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec soon = time_from_now(CLOCK_REALTIME, 3);

    make_mutex(&mutex, type);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(pthread_cond_timedwait(&condition, &mutex, &soon), ETIMEDOUT);
    CHECK(time_has_come(CLOCK_REALTIME, &soon));
    CHECK_EQUAL(elsewhere(try_it, &mutex), EBUSY);
    soon = time_from_now(CLOCK_MONOTONIC, 3);
    CHECK_EQUAL(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    CHECK(time_has_come(CLOCK_MONOTONIC, &soon));
    CHECK_EQUAL(elsewhere(try_it, &mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

/* Rounds of a barrier: each broadcast must reach all who wait, round after round. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t round_over;
    int arrived;
    long round;
} barrier = {.mutex = PTHREAD_MUTEX_INITIALIZER, .round_over = PTHREAD_COND_INITIALIZER};
enum { PARTIES = 6, BARRIER_ROUNDS = 300 };

static void *meet(void *argument)
{
    for (long round = 0; round < BARRIER_ROUNDS; round++) {
        CHECK_EQUAL(pthread_mutex_lock(&barrier.mutex), 0);
        CHECK_EQUAL(barrier.round, round);
        if (++barrier.arrived == PARTIES) {
            barrier.arrived = 0;
            barrier.round++;
            CHECK_EQUAL(pthread_cond_broadcast(&barrier.round_over), 0);
        }
        while (barrier.round == round)
            CHECK_EQUAL(pthread_cond_wait(&barrier.round_over, &barrier.mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&barrier.mutex), 0);
    }
    return argument;
}

static void check_barrier(void)
{
    pthread_t threads[PARTIES];

    for (int i = 0; i < PARTIES; i++)
        threads[i] = start_thread(meet, NULL);
    for (int i = 0; i < PARTIES; i++)
        end_thread(threads[i]);
    CHECK_EQUAL(barrier.round, BARRIER_ROUNDS);
}

/* A mutex of an outer section stays held while the inner one's condition is waited for. */
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static bool my_turn;

static void *give_turn(void *argument)
{
    CHECK_EQUAL(pthread_mutex_trylock(&outer), EBUSY);
    CHECK_EQUAL(pthread_mutex_lock(&inner), 0);
    my_turn = true;
    CHECK_EQUAL(pthread_cond_signal(&turn), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&inner), 0);
    return argument;
}

static void check_wait_in_a_nested_section(void)
{
    pthread_t other;

    CHECK_EQUAL(pthread_mutex_lock(&outer), 0);
    CHECK_EQUAL(pthread_mutex_lock(&inner), 0);
    other = start_thread(give_turn, NULL);
    while (!my_turn)
        CHECK_EQUAL(pthread_cond_wait(&turn, &inner), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&inner), 0);
    end_thread(other);
    CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
}

static void *take_and_give_back(void *mutex)
{
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

/* libc takes the mutex for a waiter by its own means, and may mark it as one that it elides. */
static void check_life_after_waits(pthread_mutex_t mutex)
{
    static const struct timespec long_ago = {.tv_sec = 1};

    for (int waits = 0; waits < 3; waits++) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        CHECK_EQUAL(pthread_cond_timedwait(&turn, &mutex, &long_ago), ETIMEDOUT);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        elsewhere(take_and_give_back, &mutex);
        CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_destroy(&mutex), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    }
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

int main(void)
{
    static const int types[] = {PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_NORMAL,
                                PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK};

    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        check_time_outs(types[i]);
        check_queue(types[i], false);
        check_queue(types[i], true);
    }
    /* By initialisers: a type that is asked for is one that libc does not elide. */
    check_life_after_waits((pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER);
    check_life_after_waits((pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP);
    check_life_after_waits((pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP);
    check_life_after_waits((pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP);
    check_barrier();
    check_wait_in_a_nested_section();
    return 0;
}
