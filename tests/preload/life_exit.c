/*
 * SPDX-License-Identifier: MIT
 *
 * Every way to end a process, by its first thread or another one, while other threads allocate and
 * lock, with handlers that do the same: it ends, with its own status, and at once.
 */
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { OTHERS = 3, STATUS = 9, CHILD_SECONDS = 60 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int handled; /* guarded by mutex */

static void *allocate_and_lock_for_ever(void *argument)
{
    for (uint64_t random = (uintptr_t)argument;;) {
        char *block = malloc(next_random(&random) % 3000);
        EXPECT(pthread_mutex_lock(&mutex) == 0);
        free(block);
        EXPECT(pthread_mutex_unlock(&mutex) == 0);
    }
    return NULL;
}

static void handle(void)
{
    for (size_t size = 1; size < 1000000; size *= 10)
        free(realloc(malloc(size), 2 * size));
    EXPECT(pthread_mutex_lock(&mutex) == 0);
    handled++;
    EXPECT(pthread_mutex_unlock(&mutex) == 0);
}

static void handle_with_status(int status, void *argument)
{
    free(argument);
    if (status != STATUS || handled != 1)
        _exit(1);
    handle();
}

static void by_exit(void)
{
    exit(STATUS);
}

static void by_quick_exit(void)
{
    quick_exit(STATUS);
}

static void by_immediate_exit(void)
{
    _exit(STATUS);
}

static void by_a_handler_that_exits(void)
{
    signal(SIGUSR1, _exit); /* its argument is the signal's number */
    raise(SIGUSR1);
}

static const struct {
    void (*end)(void);
    int status;
} ways[] = {
    {by_exit, STATUS},
    {by_quick_exit, STATUS},
    {by_immediate_exit, STATUS},
    {by_a_handler_that_exits, SIGUSR1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void *end_by(void *way)
{
    free(malloc(100));
    ways[(uintptr_t)way].end();
    return NULL;
}

static _Noreturn void be_a_child(size_t way, int in_second_thread)
{
    pthread_t thread;

    alarm(CHILD_SECONDS);
    EXPECT(atexit(handle) == 0); /* runs last */
    EXPECT(on_exit(handle_with_status, malloc(200)) == 0);
    EXPECT(atexit(handle) == 0);
    EXPECT(at_quick_exit(handle) == 0);
    for (uintptr_t i = 0; i < OTHERS; i++)
        EXPECT(pthread_create(&thread, NULL, allocate_and_lock_for_ever, (void *)i) == 0);
    if (!in_second_thread)
        ways[way].end();
    EXPECT(pthread_create(&thread, NULL, end_by, (void *)way) == 0);
    pthread_exit(NULL); /* the first thread is gone when the second one ends the process */
}

int main(void)
{
    for (int round = 0; round < 40; round++) {
        size_t way = (size_t)round % WAYS;
        pid_t child = fork();
        int status;

        if (child == 0)
            be_a_child(way, round / WAYS % 2);
        while (waitpid(child, &status, 0) < 0)
            EXPECT(errno == EINTR);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == ways[way].status);
    }
    return 0;
}
