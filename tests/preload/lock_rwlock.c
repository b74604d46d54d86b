/*
 * SPDX-License-Identifier: MIT
 *
 * What POSIX and glibc promise of a rwlock that one thread locks while others look: who gets in,
 * which error comes, what a deadline does, for every kind.
 */
#include "rwlock_check.h"

static const struct timespec long_ago = {.tv_sec = 1};
static const struct timespec before_1970 = {.tv_sec = -1};
static const struct timespec no_times[] = {{.tv_sec = 1, .tv_nsec = -1},
                                           {.tv_sec = 1, .tv_nsec = 1000000000},
                                           {.tv_sec = 1L << 40, .tv_nsec = -1}};

static void readers_share_and_writers_exclude(int kind)
{
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
        check_read(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
        check_free(&rwlock);
        CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
        check_written(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
        check_free(&rwlock);
        CHECK_EQUAL(pthread_rwlock_tryrdlock(&rwlock), 0);
        check_read(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
        CHECK_EQUAL(pthread_rwlock_trywrlock(&rwlock), 0);
        check_written(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    }
    check_free(&rwlock);
    CHECK_EQUAL(pthread_rwlock_destroy(&rwlock), 0);
}

static void a_thread_reads_as_often_as_it_unlocks(int kind)
{
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 9; i++)
        CHECK_EQUAL(i % 2 ? pthread_rwlock_tryrdlock(&rwlock) : pthread_rwlock_rdlock(&rwlock), 0);
    for (int i = 0; i < 9; i++) {
        check_read(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    }
    check_free(&rwlock);
}

static void the_writer_is_told_of_its_deadlock(int kind)
{
    pthread_rwlock_t rwlock;
    struct timespec later = time_from_now(CLOCK_REALTIME, 1000000);
    struct timespec later_monotonic = time_from_now(CLOCK_MONOTONIC, 1000000);

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    for (int way = 0; way < 2; way++) { /* written by wrlock and by trywrlock */
        CHECK_EQUAL(way ? pthread_rwlock_trywrlock(&rwlock) : pthread_rwlock_wrlock(&rwlock), 0);
        int errors[] = {
            pthread_rwlock_rdlock(&rwlock),
            pthread_rwlock_wrlock(&rwlock),
            pthread_rwlock_timedrdlock(&rwlock, &later),
            pthread_rwlock_timedwrlock(&rwlock, &later),
            pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &later_monotonic),
            pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &later_monotonic),
        };
        int tries[] = {pthread_rwlock_tryrdlock(&rwlock), pthread_rwlock_trywrlock(&rwlock)};
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
        for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++)
            CHECK_EQUAL(errors[i], EDEADLK);
        CHECK_EQUAL(tries[0], EBUSY);
        CHECK_EQUAL(tries[1], EBUSY);
    }
    check_free(&rwlock);
}

static void a_reader_that_tries_to_write_is_busy_or_late(int kind)
{
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
    int error = pthread_rwlock_trywrlock(&rwlock);
    struct timespec soon = time_from_now(CLOCK_REALTIME, 20);
    int late = pthread_rwlock_timedwrlock(&rwlock, &soon);
    check_read(&rwlock);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQUAL(error, EBUSY);
    CHECK_EQUAL(late, ETIMEDOUT);
    check_free(&rwlock);
}

/* ---- deadlines ---- */

static pthread_rwlock_t held;

struct answers {
    int read, write, clock_read, clock_write;
};

static struct answers ask(pthread_rwlock_t *rwlock, clockid_t clock,
                          const struct timespec *deadline)
{
    struct answers answers;

    answers.read = pthread_rwlock_timedrdlock(rwlock, deadline);
    if (answers.read == 0)
        CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    answers.write = pthread_rwlock_timedwrlock(rwlock, deadline);
    if (answers.write == 0)
        CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    answers.clock_read = pthread_rwlock_clockrdlock(rwlock, clock, deadline);
    if (answers.clock_read == 0)
        CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    answers.clock_write = pthread_rwlock_clockwrlock(rwlock, clock, deadline);
    if (answers.clock_write == 0)
        CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    return answers;
}

static void check_all(struct answers answers, int expected)
{
    CHECK_EQUAL(answers.read, expected);
    CHECK_EQUAL(answers.write, expected);
    CHECK_EQUAL(answers.clock_read, expected);
    CHECK_EQUAL(answers.clock_write, expected);
}

static void *ask_of_the_held_one(void *unused)
{
    check_all(ask(&held, CLOCK_MONOTONIC, &long_ago), ETIMEDOUT);
    check_all(ask(&held, CLOCK_REALTIME, &before_1970), ETIMEDOUT);
    for (unsigned i = 0; i < sizeof no_times / sizeof no_times[0]; i++)
        check_all(ask(&held, CLOCK_MONOTONIC, &no_times[i]), EINVAL);
    CHECK_EQUAL(pthread_rwlock_clockrdlock(&held, CLOCK_THREAD_CPUTIME_ID, &long_ago), EINVAL);

    clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    for (int i = 0; i < 2; i++) {
        struct timespec soon = time_from_now(clocks[i], 30);
        CHECK_EQUAL(pthread_rwlock_clockrdlock(&held, clocks[i], &soon), ETIMEDOUT);
        CHECK(time_has_come(clocks[i], &soon));
        soon = time_from_now(clocks[i], 30);
        CHECK_EQUAL(pthread_rwlock_clockwrlock(&held, clocks[i], &soon), ETIMEDOUT);
        CHECK(time_has_come(clocks[i], &soon));
    }
    return unused;
}

static void a_deadline_ends_the_wait_and_one_that_is_no_time_is_an_error(int kind)
{
    make_rwlock(&held, kind, PTHREAD_PROCESS_PRIVATE);
    /* Free: a deadline in the past does not matter, one that is no time does, as in glibc. */
    check_all(ask(&held, CLOCK_MONOTONIC, &long_ago), 0);
    check_all(ask(&held, CLOCK_REALTIME, &before_1970), 0);
    for (unsigned i = 0; i < sizeof no_times / sizeof no_times[0]; i++)
        check_all(ask(&held, CLOCK_MONOTONIC, &no_times[i]), EINVAL);
    CHECK_EQUAL(pthread_rwlock_clockrdlock(&held, CLOCK_THREAD_CPUTIME_ID, &long_ago), EINVAL);
    CHECK_EQUAL(pthread_rwlock_clockwrlock(&held, -1, &long_ago), EINVAL);

    CHECK_EQUAL(pthread_rwlock_wrlock(&held), 0);
    elsewhere(ask_of_the_held_one, NULL);
    CHECK_EQUAL(pthread_rwlock_unlock(&held), 0);
    check_free(&held);
}

/* ---- who goes first ---- */

static void *write_once(void *rwlock)
{
    CHECK_EQUAL(pthread_rwlock_wrlock(rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    return NULL;
}

/* A writer waits while this thread reads. A new reader comes past it but for the kind whose readers
 * let waiting writers go first; libc's own answer says when the writer has told that it waits. */
static void the_kind_says_whether_readers_pass_a_waiting_writer(int kind)
{
    pthread_rwlock_t rwlock;
    bool passes = kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
    pthread_t writer = start_thread(write_once, &rwlock);
    while (!(__atomic_load_n(&rwlock.__data.__readers, __ATOMIC_RELAXED) & 2))
        sched_yield();
    CHECK_EQUAL((long)elsewhere(try_to_read, &rwlock), passes ? 0 : EBUSY);
    CHECK_EQUAL((long)elsewhere(try_to_write, &rwlock), EBUSY);
    if (passes) {
        CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    }
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    end_thread(writer);
    check_free(&rwlock);
}

/* ---- the rest ---- */

static void more_readers_than_can_be_counted_are_refused(void)
{
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec later = time_from_now(CLOCK_REALTIME, 1000000);

    rwlock.__data.__readers = (1u << 31) - 16; /* room for one more */
    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), EAGAIN);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&rwlock), EAGAIN);
    CHECK_EQUAL(pthread_rwlock_timedrdlock(&rwlock, &later), EAGAIN);
    CHECK_EQUAL(pthread_rwlock_trywrlock(&rwlock), EBUSY);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQUAL(rwlock.__data.__readers, (1u << 31) - 16);
}

static void static_initialisers_make_locks_of_every_kind(void)
{
    static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t yields = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t *locks[] = {&plain, &yields};

    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(pthread_rwlock_wrlock(locks[i]), 0);
        check_written(locks[i]);
        CHECK_EQUAL(pthread_rwlock_unlock(locks[i]), 0);
        CHECK_EQUAL(pthread_rwlock_rdlock(locks[i]), 0);
        check_read(locks[i]);
        CHECK_EQUAL(pthread_rwlock_unlock(locks[i]), 0);
    }
}

/* Each state that libc's functions leave is understood by those in front, and the reverse. */
static void libcs_own_functions_share_the_lock(int kind)
{
    int (*const lock[])(pthread_rwlock_t *) = {
        pthread_rwlock_rdlock, of_libc("pthread_rwlock_rdlock"), pthread_rwlock_wrlock,
        of_libc("pthread_rwlock_wrlock")};
    int (*const unlock[])(pthread_rwlock_t *) = {pthread_rwlock_unlock,
                                                 of_libc("pthread_rwlock_unlock")};
    int (*const try_read)(pthread_rwlock_t *) = of_libc("pthread_rwlock_tryrdlock");
    int (*const try_write)(pthread_rwlock_t *) = of_libc("pthread_rwlock_trywrlock");
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    for (int pair = 0; pair < 64; pair++) {
        int first = pair & 3, second = pair >> 2 & 3;
        CHECK_EQUAL(lock[first](&rwlock), 0);
        if (first >= 2) {
            CHECK_EQUAL(try_read(&rwlock), EBUSY);
            CHECK_EQUAL(lock[second](&rwlock), EDEADLK);
        } else {
            CHECK_EQUAL(try_write(&rwlock), EBUSY);
            CHECK_EQUAL(try_read(&rwlock), 0);
            CHECK_EQUAL(unlock[pair >> 5 & 1](&rwlock), 0);
        }
        CHECK_EQUAL(unlock[pair >> 4 & 1](&rwlock), 0);
        check_free(&rwlock);
        CHECK_EQUAL(lock[second](&rwlock), 0);
        CHECK_EQUAL(unlock[pair >> 5 & 1](&rwlock), 0);
        CHECK_EQUAL(try_write(&rwlock), 0);
        check_written(&rwlock);
        CHECK_EQUAL(unlock[pair >> 4 & 1](&rwlock), 0);
        check_free(&rwlock);
    }
}

int main(void)
{
    for (int i = 0; i < RWLOCK_KINDS; i++) {
        readers_share_and_writers_exclude(rwlock_kinds[i]);
        a_thread_reads_as_often_as_it_unlocks(rwlock_kinds[i]);
        the_writer_is_told_of_its_deadlock(rwlock_kinds[i]);
        a_reader_that_tries_to_write_is_busy_or_late(rwlock_kinds[i]);
        a_deadline_ends_the_wait_and_one_that_is_no_time_is_an_error(rwlock_kinds[i]);
        the_kind_says_whether_readers_pass_a_waiting_writer(rwlock_kinds[i]);
        libcs_own_functions_share_the_lock(rwlock_kinds[i]);
    }
    more_readers_than_can_be_counted_are_refused();
    static_initialisers_make_locks_of_every_kind();
    return 0;
}
