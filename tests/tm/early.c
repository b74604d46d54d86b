/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions in constructors and handlers of fork of a library that is there before
 * libtm_runtime.so. One claim each: tm_early CLAIM.
 */
#include "early_library.h"
#include "expect.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int stop;

static void *get_number(void *nothing)
{
    EXPECT(number_of_library() == 2);
    return nothing;
}

static void transactions_may_run_before_the_constructor(void)
{
    pthread_t thread;

    alarm(20);
    get_number(NULL);
    pthread_create(&thread, NULL, get_number, NULL);
    pthread_join(thread, NULL);
    get_number(NULL);
}

static int status_of(pid_t child)
{
    int status = -1;

    EXPECT(waitpid(child, &status, 0) == child);
    return status;
}

static void handlers_of_fork_may_have_transactions(void)
{
    alarm(20);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(number_of_library() != 2);
        EXPECT(status_of(child) == 0 && number_of_library() == 2);
    }
}

static void *step(void *nothing)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        step_under_the_mutex();
    return nothing;
}

static void handlers_of_fork_may_lock_what_a_waiting_thread_holds(void)
{
    pthread_t thread;

    alarm(60);
    step_under_the_mutex();
    pthread_create(&thread, NULL, step, NULL);
    lock_in_handlers = 1;
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();

        if (child == 0) {
            step_under_the_mutex();
            _exit(number_of_library() != 2);
        }
        EXPECT(status_of(child) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void *fork_often(void *nothing)
{
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        EXPECT(status_of(child) == 0);
        number_of_library();
    }
    return nothing;
}

static void two_threads_may_fork_at_once(void)
{
    pthread_t thread;

    alarm(60);
    pthread_create(&thread, NULL, fork_often, NULL);
    fork_often(NULL);
    pthread_join(thread, NULL);
    EXPECT(number_of_library() == 2);
}

static const struct claim claims[] = {
    CLAIM(transactions_may_run_before_the_constructor),
    CLAIM(handlers_of_fork_may_have_transactions),
    CLAIM(handlers_of_fork_may_lock_what_a_waiting_thread_holds),
    CLAIM(two_threads_may_fork_at_once),
};

int main(int argc, char **argv)
{
    return run_claim(argc, argv, claims, sizeof claims / sizeof *claims);
}
