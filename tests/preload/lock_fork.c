/*
 * SPDX-License-Identifier: MIT
 *
 * fork while other threads lock and wait: the child's mutexes work, it is their owner under its own
 * id, a mutex that the forking thread held is held in the child, and exit works in any thread.
 */
#include "lock_check.h"

#include <sys/wait.h>

enum { LOCKERS = 3, FORKS = 25 };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t atfork_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int stop;
static long work_done;

static void *keep_locking(void *argument)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        CHECK_EQUAL(pthread_mutex_lock(&busy), 0);
        work_done++;
        CHECK_EQUAL(pthread_mutex_unlock(&busy), 0);
        CHECK_EQUAL(pthread_mutex_lock(&atfork_mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&atfork_mutex), 0);
    }
    return argument;
}

static void prepare(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&atfork_mutex), 0);
}

static void let_go(void)
{
    CHECK_EQUAL(pthread_mutex_unlock(&atfork_mutex), 0);
}

static void *lock_and_count(void *argument)
{
    CHECK_EQUAL(pthread_mutex_lock(&atfork_mutex), 0);
    ++*(long *)argument;
    CHECK_EQUAL(pthread_mutex_unlock(&atfork_mutex), 0);
    return NULL;
}

static void run_child(void)
{
    long counted = 0;

    /* What the prepare handler locked is the child's to unlock, and free again. */
    CHECK_EQUAL(pthread_mutex_trylock(&atfork_mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&atfork_mutex), 0);

    CHECK_EQUAL(pthread_mutex_lock(&checked), 0);
    CHECK_EQUAL(checked.__data.__owner, gettid());
    CHECK_EQUAL(pthread_mutex_lock(&checked), EDEADLK);
    CHECK_EQUAL(pthread_mutex_unlock(&checked), 0);
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(recursive.__data.__owner, gettid());
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);

    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start_thread(lock_and_count, &counted);
    for (int i = 0; i < 3; i++)
        end_thread(threads[i]);
    CHECK_EQUAL(counted, 3);
    _exit(0);
}

static void check_child(pid_t child)
{
    int status;

    CHECK(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_fork_among_lockers(void)
{
    pthread_t threads[LOCKERS];

    CHECK_EQUAL(pthread_atfork(prepare, let_go, let_go), 0);
    for (int i = 0; i < LOCKERS; i++)
        threads[i] = start_thread(keep_locking, NULL);
    /* The ids of this thread are known before the fork, so that the child's must be new ones. */
    CHECK_EQUAL(pthread_mutex_lock(&checked), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&checked), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0)
            run_child();
        check_child(child);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < LOCKERS; i++)
        end_thread(threads[i]);
    CHECK(work_done > 0);
}

static void check_fork_inside_a_section(void)
{
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

    CHECK_EQUAL(pthread_mutex_lock(&held), 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(pthread_mutex_trylock(&held), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&held), 0);
        CHECK_EQUAL(pthread_mutex_lock(&held), 0);
        _exit(0);
    }
    check_child(child);
    CHECK_EQUAL(pthread_mutex_trylock(&held), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&held), 0);
}

static void *exit_from_here(void *argument)
{
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    exit((int)(long)argument);
}

static void check_exit_in_a_thread(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
        start_thread(keep_locking, NULL);
        start_thread(exit_from_here, (void *)42L);
        for (;;)
            pause();
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

int main(void)
{
    check_fork_among_lockers();
    check_fork_inside_a_section();
    check_exit_in_a_thread();
    return 0;
}
