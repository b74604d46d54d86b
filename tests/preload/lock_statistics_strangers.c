/*
 * SPDX-License-Identifier: MIT
 *
 * Counting where a thread's table is easily taken for another's: children of vfork, of a raw clone
 * and of fork, and a signal handler that locks and resets at any instruction of a lock. Without a
 * library nothing is counted, and what is left is that nothing hangs.
 */
#include "lock_check.h"
#include "single_step.h"

#include "mplace.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LOCKS = 300, PAIRS = 200000 };

static int (*statistics)(struct mplace_lock_statistics *, size_t);
static void (*reset)(void);

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutexes[2][LOCKS]; /* all zeros is PTHREAD_MUTEX_INITIALIZER */
static pthread_barrier_t barrier;

static void start_counting(void)
{
    if (reset != NULL)
        reset();
}

/* Of all threads since the last reset; where nothing counts, what is expected. */
static long counted(long expected)
{
    struct mplace_lock_statistics counts;

    if (statistics == NULL)
        return expected;
    CHECK_EQUAL(statistics(&counts, sizeof counts), 0);
    return (long)counts.acquisitions;
}

static void lock_once(pthread_mutex_t *mutex)
{
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
}

/* Two threads that wrongly shared one table would lose counts to each other. */
static void *lock_often(void *set)
{
    pthread_mutex_t *own = set;

    lock_once(&own[0]);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < PAIRS; i++)
        lock_once(&own[i % LOCKS]);
    return NULL;
}

static void await(pid_t child)
{
    int status;

    CHECK(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

static void vfork_a_child_that_locks(void)
{
    pid_t child = vfork();

    if (child == 0) {
        pthread_mutex_lock(&first);
        pthread_mutex_unlock(&first);
        _exit(0);
    }
    await(child);
}

static void two_threads_count_exactly(long before)
{
    long expected = before + 2 * (PAIRS + 1);

    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, 2), 0);
    pthread_t one = start_thread(lock_often, mutexes[0]);
    pthread_t two = start_thread(lock_often, mutexes[1]);
    end_thread(one);
    end_thread(two);
    CHECK_EQUAL(counted(expected), expected);
}

/* Each of these in a child of its own, in which nothing has been counted and no thread has locked.
 */

static void a_vfork_child_that_counts_first_leaves_the_threads_their_tables(void)
{
    start_counting();
    vfork_a_child_that_locks();
    two_threads_count_exactly(1);
}

static void a_vfork_child_takes_over_no_live_threads_table(void)
{
    long expected = 2 * (PAIRS + 1) + 1;

    start_counting();
    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, 2), 0);
    pthread_t other = start_thread(lock_often, mutexes[0]);
    while (counted(1) == 0)
        sched_yield();
    vfork_a_child_that_locks();
    (void)lock_often(mutexes[1]);
    end_thread(other);
    CHECK_EQUAL(counted(expected), expected);
}

/* Counts in its main thread and in another one; the parent's id is nobody's then. */
static void count_in_two_threads_of_an_orphan(long parent, int report)
{
    const char done = 1;
    long before, expected;

    while (syscall(SYS_getppid) == parent)
        sched_yield();
    before = counted(0);
    expected = before + 2 * (PAIRS + 1);
    pthread_t other = start_thread(lock_often, mutexes[0]);
    (void)lock_often(mutexes[1]);
    end_thread(other);
    CHECK_EQUAL(counted(expected), expected);
    CHECK_EQUAL(write(report, &done, 1), 1);
    _exit(0);
}

static void threads_of_a_raw_clones_child_keep_their_tables_when_the_parent_is_gone(void)
{
    int report[2];
    char done = 0;

    CHECK_EQUAL(pipe(report), 0);
    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, 2), 0);
    pid_t parent = fork();
    if (parent == 0) {
        long id = syscall(SYS_getpid);

        start_counting();
        lock_once(&mutexes[1][0]);
        if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0)
            count_in_two_threads_of_an_orphan(id, report[1]);
        _exit(0);
    }
    await(parent);
    CHECK_EQUAL(close(report[1]), 0);
    CHECK_EQUAL(read(report[0], &done, 1), 1);
    CHECK_EQUAL(done, 1);
}

static void *lock_first(void *argument)
{
    lock_once(&first);
    return argument;
}

static void threads_of_a_child_keep_their_tables_though_its_first_thread_has_none(void)
{
    start_counting();
    elsewhere(lock_first, NULL);
    pid_t child = fork();
    if (child == 0) {
        two_threads_count_exactly(0);
        _exit(0);
    }
    await(child);
}

static long step, interrupted_at;

/* A reset makes the handler's own count empty the table under the interrupted one. */
static bool reset_and_lock(void)
{
    if (step++ < interrupted_at)
        return true;
    start_counting();
    lock_once(&mutexes[1][0]);
    return false;
}

/* At each instruction in turn, of a lock that needs a new row in a table with some. */
static void a_handler_may_reset_and_lock_at_any_instruction_of_a_lock(void)
{
    enum { FEW = 20, MORE = 100 };

    single_step_with(reset_and_lock);
    lock_once(&mutexes[0][0]); /* so that the dynamic linker has bound them */
    for (interrupted_at = step = 0; step >= interrupted_at; interrupted_at++) {
        start_counting();
        for (int i = 0; i < FEW; i++)
            lock_once(&mutexes[0][i]);
        step = 0;
        single_step_on();
        lock_once(&mutexes[1][1]);
        single_step_off();

        /* The table is whole: all that follows in this epoch is counted. */
        long before = counted(0);
        for (int i = 0; i < 2 * MORE; i++)
            lock_once(&mutexes[0][i % MORE]);
        CHECK_EQUAL(counted(before + 2 * MORE), before + 2 * MORE);
    }
    CHECK(interrupted_at > 10);
}

int main(void)
{
    void (*const claims[])(void) = {
        a_vfork_child_that_counts_first_leaves_the_threads_their_tables,
        a_vfork_child_takes_over_no_live_threads_table,
        threads_of_a_raw_clones_child_keep_their_tables_when_the_parent_is_gone,
        threads_of_a_child_keep_their_tables_though_its_first_thread_has_none,
        a_handler_may_reset_and_lock_at_any_instruction_of_a_lock,
    };

    statistics = (int (*)(struct mplace_lock_statistics *, size_t))dlsym(RTLD_DEFAULT,
                                                                         "mplace_lock_statistics");
    reset = (void (*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_statistics_reset");
    for (unsigned i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            claims[i]();
            _exit(0);
        }
        await(child);
    }
    return 0;
}
