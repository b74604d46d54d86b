/*
 * SPDX-License-Identifier: MIT
 *
 * Who owns a mutex around fork: handlers that run before and after those of a lock library lock
 * mutexes of the types that know their owner, and the program unlocks them when fork has returned.
 * The one thread of the child is not the thread that forked: the kernel gave it another id.
 */
#include "lock_check.h"

#include "lock_atfork_early.h"

#include <sys/wait.h>

static pthread_mutex_t late = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void before(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&late), 0);
}

static void in_parent(void)
{
    CHECK_EQUAL(pthread_mutex_unlock(&late), 0);
}

static void in_child(void)
{
    pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    CHECK_EQUAL(pthread_mutex_unlock(&late), EPERM);
    late = fresh;
}

static void *try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_trylock(mutex);
}

static void check_after_fork(void)
{
    CHECK_EQUAL(early_error_check.__data.__owner, gettid());
    CHECK_EQUAL(pthread_mutex_lock(&early_error_check), EDEADLK);
    CHECK_EQUAL(elsewhere(try_it, &early_error_check), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&early_error_check), 0);
    CHECK_EQUAL(pthread_mutex_lock(&early_recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&early_recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&early_recursive), 0);
    CHECK_EQUAL(elsewhere(try_it, &early_recursive), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&early_recursive), 0);
    CHECK_EQUAL(elsewhere(try_it, &early_recursive), 0);

    CHECK_EQUAL(pthread_mutex_lock(&late), 0);
    CHECK_EQUAL(late.__data.__owner, gettid());
    CHECK_EQUAL(pthread_mutex_unlock(&late), 0);
}

static void fork_once(int generation)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    check_after_fork();
    if (child == 0)
        _exit(generation);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == generation);
}

static void *fork_in_a_thread(void *argument)
{
    pthread_mutex_t unused = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

    early_recursive = unused; /* left locked by the look from elsewhere */
    fork_once(3);
    return argument;
}

int main(void)
{
    CHECK_EQUAL(pthread_atfork(before, in_parent, in_child), 0);
    fork_once(2);
    elsewhere(fork_in_a_thread, NULL); /* that has locked nothing before */
    return 0;
}
