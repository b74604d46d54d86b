/*
 * SPDX-License-Identifier: MIT
 *
 * Sections inside sections: any order of unlock, hand over hand, all types mixed, more levels than
 * a transaction may have, trylock of what the thread holds, unlock of what nobody holds.
 */
#include "elision_check.h"

static const int types[] = {PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_NORMAL,
                            PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
enum { TYPES = sizeof types / sizeof types[0] };

static void *try_it(void *mutex)
{
    int result = pthread_mutex_trylock(mutex);

    if (result == 0)
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    return (void *)(long)result;
}

/* Three mutexes of all combinations of types, all orders of unlock; then all three are free. */
static void unlocks_come_in_any_order(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    pthread_mutex_t mutexes[3];

    start_counting();
    for (int set = 0; set < TYPES * TYPES * TYPES * 6; set++) {
        const int *order = orders[set % 6];
        int rest = set / 6;
        for (int i = 0; i < 3; i++, rest /= TYPES) {
            make_mutex(&mutexes[i], types[rest % TYPES]);
            CHECK_EQUAL(pthread_mutex_lock(&mutexes[i]), 0);
        }
        for (int i = 0; i < 3; i++)
            CHECK_EQUAL(pthread_mutex_unlock(&mutexes[order[i]]), 0);
        for (int i = 0; i < 3; i++) {
            CHECK_EQUAL(pthread_mutex_trylock(&mutexes[i]), 0);
            CHECK_EQUAL(pthread_mutex_unlock(&mutexes[i]), 0);
            CHECK_EQUAL(pthread_mutex_destroy(&mutexes[i]), 0);
        }
    }
    CHECK_ELIDED(TYPES * TYPES * TYPES);
}

/* A lock that was taken for real, here by a system call in its section, inside and around others.
 */
static void held_and_elided_sections_enclose_each_other(void)
{
    pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

    for (int i = 0; i < 50; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&one), 0);
        CHECK(getppid() > 0);
        CHECK_EQUAL(pthread_mutex_lock(&two), 0);
        CHECK_EQUAL(pthread_mutex_unlock(i % 2 ? &one : &two), 0);
        CHECK_EQUAL(pthread_mutex_unlock(i % 2 ? &two : &one), 0);

        CHECK_EQUAL(pthread_mutex_lock(&one), 0);
        CHECK_EQUAL(pthread_mutex_lock(&two), 0);
        CHECK(getppid() > 0);
        CHECK_EQUAL((long)elsewhere(try_it, &one), EBUSY);
        CHECK_EQUAL((long)elsewhere(try_it, &two), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&one), 0);
        CHECK_EQUAL((long)elsewhere(try_it, &one), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&two), 0);
    }
}

static void trylock_of_a_held_mutex_is_busy_also_to_the_holder(void)
{
    struct timespec past = {.tv_sec = 1};

    for (int type = 0; type < TYPES; type++) {
        pthread_mutex_t mutex, outer = PTHREAD_MUTEX_INITIALIZER;
        bool again = types[type] == PTHREAD_MUTEX_RECURSIVE;
        bool checks = types[type] == PTHREAD_MUTEX_ERRORCHECK;
        make_mutex(&mutex, types[type]);
        for (int enclosed = 0; enclosed < 2; enclosed++) {
            int errors[3];
            if (enclosed)
                CHECK_EQUAL(pthread_mutex_lock(&outer), 0);
            CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
            errors[0] = pthread_mutex_trylock(&mutex);
            CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
            if (errors[0] == 0)
                CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);

            CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
            errors[1] = pthread_mutex_timedlock(&mutex, &past);
            CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
            if (errors[1] == 0)
                CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);

            CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
            errors[2] = checks ? pthread_mutex_lock(&mutex) : EDEADLK;
            CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
            if (enclosed)
                CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
            CHECK_EQUAL(errors[0], again ? 0 : EBUSY);
            CHECK_EQUAL(errors[1], again ? 0 : checks ? EDEADLK : ETIMEDOUT);
            CHECK_EQUAL(errors[2], EDEADLK);
        }
    }
}

static void twenty_levels_are_entered_and_left(void)
{
    pthread_mutex_t mutexes[20];
    long sum = 0;

    for (int i = 0; i < 20; i++)
        make_mutex(&mutexes[i], types[i % 2]);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 20; i++) {
            CHECK_EQUAL(pthread_mutex_lock(&mutexes[i]), 0);
            sum++;
        }
        for (int i = 0; i < 20; i++)
            CHECK_EQUAL(pthread_mutex_unlock(&mutexes[round % 2 ? i : 19 - i]), 0);
    }
    CHECK_EQUAL(sum, 600);
    for (int i = 0; i < 20; i++)
        CHECK_EQUAL((long)elsewhere(try_it, &mutexes[i]), 0);
}

static void a_recursive_mutex_counts_inside_other_sections(void)
{
    pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, recursive;

    make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&outer), 0);
        CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
        CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
        CHECK_EQUAL((long)elsewhere(try_it, &recursive), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
        CHECK_EQUAL(pthread_mutex_lock(&outer), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
        int error = pthread_mutex_unlock(&recursive);
        CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
        CHECK_EQUAL(error, EPERM);
        CHECK_EQUAL((long)elsewhere(try_it, &recursive), 0);
    }
}

static void unlocking_what_is_not_locked_is_an_error_or_nothing(void)
{
    pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER, recursive, checking;

    make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE);
    make_mutex(&checking, PTHREAD_MUTEX_ERRORCHECK);
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), EPERM);
        CHECK_EQUAL(pthread_mutex_unlock(&checking), EPERM);
        CHECK_EQUAL(pthread_mutex_lock(&section), 0);
        int errors[] = {pthread_mutex_unlock(&recursive), pthread_mutex_unlock(&checking)};
        int still = pthread_mutex_trylock(&section);
        CHECK_EQUAL(pthread_mutex_unlock(&section), 0);
        CHECK_EQUAL(errors[0], EPERM);
        CHECK_EQUAL(errors[1], EPERM);
        CHECK_EQUAL(still, EBUSY); /* the section went on */
    }
    /* Undefined for the other types, but programs do it; nothing may crash. The mutexes are used
     * no more: glibc's own unlock leaves a wrong count of users behind. */
    pthread_mutex_t victim = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQUAL(pthread_mutex_unlock(&victim), 0);
    CHECK_EQUAL(pthread_mutex_lock(&section), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&victim), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&section), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&section), 0);
}

/* As far as libc lets a program get away with it; glibc's own count of users is then wrong. */
static void an_unlock_of_a_free_mutex_does_not_end_the_section_it_is_in(void)
{
    pthread_mutex_t victim = PTHREAD_MUTEX_INITIALIZER;

    start_counting();
    for (int i = 0; i < 20; i++) {
        pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER; /* new: nothing remembered */
        CHECK_EQUAL(pthread_mutex_lock(&section), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&victim), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&section), 0);
    }
    CHECK_ELIDED(10);
    for (int i = 0; i < 20; i++) {
        pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER;
        CHECK_EQUAL(pthread_mutex_lock(&section), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&victim), 0);
        int still = pthread_mutex_trylock(&section);
        CHECK_EQUAL(pthread_mutex_unlock(&section), 0);
        CHECK_EQUAL(still, EBUSY);
    }
}

/* A sorted list, each node with a mutex, walked hand over hand by several threads. */
enum { NODES = 12, WALKERS = 4, WALKS = 150 };
static struct node {
    pthread_mutex_t mutex;
    long visits, check;
    char rest[64];
} nodes[NODES];

static void *walk(void *argument)
{
    bool whole = true;

    for (int i = 0; i < WALKS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&nodes[0].mutex), 0);
        for (int n = 0; n < NODES; n++) {
            whole &= nodes[n].visits == nodes[n].check;
            nodes[n].visits++;
            if (n + 1 < NODES)
                CHECK_EQUAL(pthread_mutex_lock(&nodes[n + 1].mutex), 0);
            nodes[n].check++;
            CHECK_EQUAL(pthread_mutex_unlock(&nodes[n].mutex), 0);
        }
        CHECK(whole);
    }
    return argument;
}

static void walking_hand_over_hand_keeps_each_node_to_one(void)
{
    pthread_t walkers[WALKERS];

    for (int n = 0; n < NODES; n++)
        make_mutex(&nodes[n].mutex, types[n % TYPES]);
    for (int i = 0; i < WALKERS; i++)
        walkers[i] = start_thread(walk, NULL);
    for (int i = 0; i < WALKERS; i++)
        end_thread(walkers[i]);
    for (int n = 0; n < NODES; n++) {
        CHECK_EQUAL(nodes[n].visits, WALKERS * WALKS);
        CHECK_EQUAL(nodes[n].check, WALKERS * WALKS);
    }
}

int main(void)
{
    unlocks_come_in_any_order();
    held_and_elided_sections_enclose_each_other();
    trylock_of_a_held_mutex_is_busy_also_to_the_holder();
    twenty_levels_are_entered_and_left();
    a_recursive_mutex_counts_inside_other_sections();
    walking_hand_over_hand_keeps_each_node_to_one();
    unlocking_what_is_not_locked_is_an_error_or_nothing();
    an_unlock_of_a_free_mutex_does_not_end_the_section_it_is_in();
    return 0;
}
