/*
 * SPDX-License-Identifier: MIT
 *
 * The child of a fork allocates, first in the handler of a library that registered it before ours,
 * then after it, while another thread of the parent takes the pool's lock all the time; so does the
 * child of _Fork, in which no handler runs.
 */
#include "bank_atfork_early.h"
#include "expect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static atomic_bool stop;

static void *come_and_go(void *unused)
{
    while (!atomic_load(&stop))
        free(malloc(1 << 20));
    return unused;
}

static void allocate(void)
{
    for (size_t bytes = 16; bytes < 1000000; bytes += bytes / 2) {
        char *block = malloc(bytes);

        EXPECT(block != NULL);
        memset(block, 2, bytes);
        free(block);
    }
}

/* Of the thread that forks, before it does; and of one that is started in the child of _Fork. */
static char *before[7], *after[2000];
enum { BEFORE = sizeof before / sizeof before[0], AFTER = sizeof after / sizeof after[0] };

static void *do_nothing(void *unused)
{
    return unused;
}

/* It wants the lock first. */
static void *free_and_allocate(void *unused)
{
    free(malloc(1 << 20));
    for (int i = 0; i < BEFORE; i++)
        free(before[i]);
    for (int i = 0; i < AFTER; i++) {
        EXPECT((after[i] = malloc(4096)) != NULL);
        memset(after[i], 3, 4096);
    }
    return unused;
}

static void a_thread_of_the_child_and_the_one_that_forked_have_blocks_of_their_own(void)
{
    pthread_t thread;

    /* Its stack is kept: the one in the child takes no lock to be started. */
    EXPECT(pthread_create(&thread, NULL, do_nothing, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < BEFORE; i++)
        before[i] = malloc(400);
    pid_t child = _Fork();
    if (child == 0) {
        alarm(20);
        EXPECT(pthread_create(&thread, NULL, free_and_allocate, NULL) == 0);
        EXPECT(pthread_join(thread, NULL) == 0);
        for (int i = 0; i < BEFORE; i++)
            memset(malloc(400), 4, 400);
        for (int i = 0; i < AFTER; i++)
            EXPECT(after[i][0] == 3 && memcmp(after[i], after[i] + 1, 4095) == 0);
        _exit(0);
    }
    int status;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    enum { FORKS = 60 };
    pthread_t thread;

    a_thread_of_the_child_and_the_one_that_forked_have_blocks_of_their_own();

    EXPECT(pthread_create(&thread, NULL, come_and_go, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        bool with_handlers = i % 2 == 0;
        pid_t child = with_handlers ? fork() : _Fork();
        int status;

        EXPECT(child >= 0);
        if (child == 0) {
            alarm(20);
            EXPECT(with_handlers == (bank_atfork_blocks > 0));
            allocate();
            _exit(0);
        }
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&stop, true);
    EXPECT(pthread_join(thread, NULL) == 0);
    return 0;
}
