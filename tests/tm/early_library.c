/*
 * SPDX-License-Identifier: MIT
 *
 * A library whose constructor, and handlers of fork, run before those of libtm_runtime.so: for
 * early.c.
 */
#include "early_library.h"

#include <pthread.h>
#include <unistd.h>

int lock_in_handlers;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long number, steps;

static void *add_one(void *nothing)
{
    __transaction_atomic
    {
        number++;
    }
    return nothing;
}

/* Handlers before a fork run in the reverse order of their registration: the gate of
 * libtm_runtime.so is closed when this one runs. */
static void before_fork(void)
{
    if (lock_in_handlers) {
        usleep(2000); /* the thread in step_under_the_mutex waits at the gate by now */
        pthread_mutex_lock(&mutex);
    }
    add_one(NULL);
}

static void after_fork(void)
{
    __transaction_atomic
    {
        number--;
    }
    if (lock_in_handlers)
        pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;

    pthread_atfork(before_fork, after_fork, after_fork);
    add_one(NULL);
    if (pthread_create(&thread, NULL, add_one, NULL) == 0)
        pthread_join(thread, NULL);
}

long number_of_library(void)
{
    long now;

    __transaction_atomic
    {
        now = number;
    }
    return now;
}

void step_under_the_mutex(void)
{
    pthread_mutex_lock(&mutex);
    __transaction_atomic
    {
        steps++;
    }
    pthread_mutex_unlock(&mutex);
}
