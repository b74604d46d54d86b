/*
 * SPDX-License-Identifier: MIT
 *
 * No wake-up is lost between condition variables and sections that may be elided. A lost one shows
 * as a hang, which the test's time-out reports. Two threads wait for each other in turn; the one
 * that signals is put, by hand or by luck, into each window of the other's wait:
 *   between the look at the predicate and the wait; between an aborted transaction and the physical
 *   acquisition; between that and the sleep; inside libc's release of the mutex; around its
 * re-take. Arguments: a seed; rounds for each way to wait and to signal.
 */
#include "elision_check.h"

enum way { WAIT, TIMED_WAIT, CLOCK_WAIT, WAYS };
enum position { INSIDE, AFTER, POSITIONS };        /* of the signal: in the section or after it */
enum approach { LOCKS, POLLS, TIMED, APPROACHES }; /* how the signaller gets the mutex */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int turn; /* whose: 0 or 1 */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct rules {
    enum way way;
    enum position position;
    enum approach approach;
    bool broadcast;
    bool lingers; /* the signaller keeps the mutex for a while after the signal */
    int rounds;
};

static void wait_for_change(enum way way)
{
    struct timespec far;

    switch (way) {
    case WAIT:
        CHECK_EQUAL(pthread_cond_wait(&table.changed, &table.mutex), 0);
        break;
    case TIMED_WAIT:
        far = time_from_now(CLOCK_REALTIME, 1000000);
        CHECK_EQUAL(pthread_cond_timedwait(&table.changed, &table.mutex, &far), 0);
        break;
    default:
        far = time_from_now(CLOCK_MONOTONIC, 1000000);
        CHECK_EQUAL(pthread_cond_clockwait(&table.changed, &table.mutex, CLOCK_MONOTONIC, &far), 0);
        break;
    }
}

static void get_mutex(enum approach approach)
{
    struct timespec far;

    switch (approach) {
    case LOCKS:
        CHECK_EQUAL(pthread_mutex_lock(&table.mutex), 0);
        break;
    case POLLS: /* in at once when libc's wait has released it */
        while (pthread_mutex_trylock(&table.mutex) != 0)
            sched_yield();
        break;
    default:
        far = time_from_now(CLOCK_REALTIME, 1000000);
        CHECK_EQUAL(pthread_mutex_timedlock(&table.mutex, &far), 0);
        break;
    }
}

static void tell(bool broadcast)
{
    CHECK_EQUAL(broadcast ? pthread_cond_broadcast(&table.changed)
                          : pthread_cond_signal(&table.changed),
                0);
}

static void play(int me, const struct rules *rules, uint64_t random)
{
    for (int round = 0; round < rules->rounds; round++) {
        /* My turn comes. */
        CHECK_EQUAL(pthread_mutex_lock(&table.mutex), 0);
        while (table.turn != me) {
            work(next_random(&random) % 64);
            wait_for_change(rules->way);
        }
        CHECK_EQUAL(pthread_mutex_unlock(&table.mutex), 0);
        work(next_random(&random) % 512);
        /* The other's turn. */
        get_mutex(rules->approach);
        CHECK_EQUAL(table.turn, me);
        table.turn = !me;
        if (rules->position == INSIDE)
            tell(rules->broadcast);
        if (rules->lingers)
            for (int i = 0; i < 3; i++)
                sched_yield();
        CHECK_EQUAL(pthread_mutex_unlock(&table.mutex), 0);
        if (rules->position == AFTER)
            tell(rules->broadcast);
    }
}

static struct rules rules_now;
static uint64_t seed;
static int rounds = 25;

static void *other_player(void *argument)
{
    play(1, &rules_now, seed ^ 0x5555);
    return argument;
}

static void turns_pass_whatever_window_the_signal_falls_into(void)
{
    for (int set = 0; set < WAYS * POSITIONS * APPROACHES * 4; set++) {
        int rest = set;
        rules_now.way = rest % WAYS, rest /= WAYS;
        rules_now.position = rest % POSITIONS, rest /= POSITIONS;
        rules_now.approach = rest % APPROACHES, rest /= APPROACHES;
        rules_now.broadcast = rest % 2;
        rules_now.lingers = rest / 2;
        rules_now.rounds = rounds;
        table.turn = (int)(next_random(&seed) % 2);
        pthread_t other = start_thread(other_player, NULL);
        play(0, &rules_now, seed);
        end_thread(other);
    }
}

/* By hand: the signaller is on its way from the moment that the waiter has seen the predicate. */
static int predicate_was_read, signaller_is_coming;
static bool ready;

static void *signal_after_the_look(void *argument)
{
    await_flag(&predicate_was_read);
    raise_flag(&signaller_is_coming);
    CHECK_EQUAL(pthread_mutex_lock(&table.mutex), 0);
    ready = true;
    tell(false);
    CHECK_EQUAL(pthread_mutex_unlock(&table.mutex), 0);
    return argument;
}

static void a_signal_between_the_look_and_the_wait_is_seen(void)
{
    for (int round = 0; round < 40 * rounds; round++) {
        predicate_was_read = signaller_is_coming = 0;
        ready = false;
        pthread_t other = start_thread(signal_after_the_look, NULL);
        CHECK_EQUAL(pthread_mutex_lock(&table.mutex), 0);
        work(next_random(&seed) % 128);
        if (!ready) {
            raise_flag(&predicate_was_read);
            /*
             * Every other round makes sure that the other is coming; the system calls end a
             * transaction. The rounds between go straight to the wait: in a transaction the flag is
             * not to be seen yet, and whoever looks at it aborts us. What must not happen is that
             * the flag becomes visible by a commit before the mutex is held.
             */
            if (round % 2 == 0)
                await_flag(&signaller_is_coming);
            do
                CHECK_EQUAL(pthread_cond_wait(&table.changed, &table.mutex), 0);
            while (!ready);
        }
        CHECK_EQUAL(pthread_mutex_unlock(&table.mutex), 0);
        end_thread(other);
    }
}

static void signals_for_nobody_leave_a_section_elided(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* one without a past */

    start_counting();
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        tell(i % 3 == 0);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    }
    CHECK_ELIDED(90);
}

/* All sleep for one mutex; its one release must reach each of them in the end. */
enum { SLEEPERS = 6, SECTIONS = 20 };
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static int going_to_sleep;
static long slept;

static void *sleep_for_the_mutex(void *argument)
{
    __atomic_add_fetch(&going_to_sleep, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < SECTIONS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&bed), 0);
        slept++;
        CHECK_EQUAL(pthread_mutex_unlock(&bed), 0);
    }
    return argument;
}

static void sleepers_for_a_mutex_that_is_then_elided_all_wake(void)
{
    pthread_t threads[SLEEPERS];

    for (int round = 0; round < 2 * rounds; round++) {
        slept = 0;
        going_to_sleep = 0;
        CHECK_EQUAL(pthread_mutex_lock(&bed), 0);
        for (int i = 0; i < SLEEPERS; i++)
            threads[i] = start_thread(sleep_for_the_mutex, NULL);
        while (__atomic_load_n(&going_to_sleep, __ATOMIC_ACQUIRE) != SLEEPERS)
            sched_yield();
        for (int i = 0; i < 20; i++)
            sched_yield(); /* until most are asleep; how many does not matter for the claim */
        CHECK_EQUAL(slept, 0);
        CHECK_EQUAL(pthread_mutex_unlock(&bed), 0);
        for (int i = 0; i < SLEEPERS; i++)
            end_thread(threads[i]);
        CHECK_EQUAL(slept, SLEEPERS * SECTIONS);
    }
}

int main(int argument_count, char **arguments)
{
    seed = take_seed(argument_count, arguments);
    if (argument_count > 2)
        rounds = atoi(arguments[2]);
    turns_pass_whatever_window_the_signal_falls_into();
    a_signal_between_the_look_and_the_wait_is_seen();
    signals_for_nobody_leave_a_section_elided();
    sleepers_for_a_mutex_that_is_then_elided_all_wake();
    return 0;
}
