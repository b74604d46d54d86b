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

int main(void)
{
    enum { FORKS = 60 };
    pthread_t thread;

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
