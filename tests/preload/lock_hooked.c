/*
 * SPDX-License-Identifier: MIT
 *
 * Locks the mutex that a library before libc takes in clock_gettime, mmap, munmap, getpid and
 * tgkill (lock_hook.c). A lock library that calls one of these to count or to time a lock operation
 * never comes back from that operation. Without a lock library nothing is counted.
 */
#include "lock_check.h"

#include "mplace.h"

#include <dlfcn.h>
#include <sys/wait.h>

enum { SECONDS_AT_MOST = 20, ROUNDS = 3, HOLD_MS = 5 };

static pthread_mutex_t *mutex;
static pthread_barrier_t barrier;

/* An operation that hangs is a SIGALRM. */
static void lock_and_unlock(void)
{
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
}

static void *lock_first(void *argument)
{
    lock_and_unlock();
    return argument;
}

/* The thread's first lock needs a table, its second one the table of the thread that ended. */
static void a_threads_first_lock_is_counted(void)
{
    lock_and_unlock();
    for (int i = 0; i < ROUNDS; i++)
        elsewhere(lock_first, NULL);
}

static void pass_time(void)
{
    const struct timespec time = {.tv_nsec = HOLD_MS * 1000000L};

    (void)nanosleep(&time, NULL);
}

static void *lock_when_it_is_held(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        lock_and_unlock();
        pthread_barrier_wait(&barrier);
    }
    return argument;
}

static void a_wait_is_timed(void)
{
    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, 2), 0);
    pthread_t waiter = start_thread(lock_when_it_is_held, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
        pthread_barrier_wait(&barrier);
        pass_time();
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        pthread_barrier_wait(&barrier);
    }
    end_thread(waiter);
}

static void *wait_in_vain(void *argument)
{
    const struct timespec *deadline = argument;

    return (void *)(long)pthread_mutex_timedlock(mutex, deadline);
}

/* Its holder waits for the thread that waits for the deadline. */
static void a_deadline_is_waited_for(void)
{
    struct timespec deadline = time_from_now(CLOCK_REALTIME, HOLD_MS);

    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(elsewhere(wait_in_vain, &deadline), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
}

static void a_child_counts_while_it_holds_the_mutex(void)
{
    int status;

    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_AT_MOST);
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        a_threads_first_lock_is_counted();
        exit(0);
    }
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/* Counting that begins here and not with the process. */
static void counts_are_reset_and_read_while_it_holds_the_mutex(void)
{
    struct mplace_lock_statistics counts;
    int (*read)(struct mplace_lock_statistics *, size_t) =
        (int (*)(struct mplace_lock_statistics *, size_t))dlsym(RTLD_DEFAULT,
                                                                "mplace_lock_statistics");
    void (*reset)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_statistics_reset");

    if (read == NULL || reset == NULL)
        return;
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    reset();
    CHECK_EQUAL(read(&counts, sizeof counts), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    lock_and_unlock();
    CHECK_EQUAL(read(&counts, sizeof counts), 0);
    CHECK(counts.acquisitions >= 1);
}

int main(void)
{
    mutex = dlsym(RTLD_DEFAULT, "lock_hook_mutex");
    if (mutex == NULL) {
        fprintf(stderr, "lock_hooked: lock_hook.so is not preloaded\n");
        return 2;
    }
    alarm(SECONDS_AT_MOST);
    counts_are_reset_and_read_while_it_holds_the_mutex();
    a_threads_first_lock_is_counted();
    a_wait_is_timed();
    a_deadline_is_waited_for();
    a_child_counts_while_it_holds_the_mutex();
    return 0;
}
