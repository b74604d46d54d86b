/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions whose report is known beforehand, for report.py to read: report HOW.
 *
 *   return, _exit, abort, signal, fault, exec, no_exec
 *                        three commits and two explicit aborts, and the process ends in this way
 *   fork, orphan         the same, and a child with one commit more; it ends first, or last
 *   variable, heap       a thread stores to a line that another thread's transaction has loaded
 *   kernel               the other thread's system call does
 */
#include "transaction.h"

#include <signal.h>
#include <sys/wait.h>

enum { COMMITS = 2 /* and that of need_transactions */, ABORTS = 2, BLOCK = 200, TRIES = 100000 };

/* A whole line: nothing else conflicts. */
struct line {
    long before;
    volatile long value;
    long rest[6];
} contended __attribute__((aligned(64)));
static volatile long *word;
static volatile int stored;

static void commit(int times)
{
    for (int i = 0; i < times; i++) {
        EXPECT_EQUAL(begin(), STARTED);
        end();
    }
}

static void abort_explicitly(int times)
{
    for (int i = 0; i < times; i++) {
        if (begin() == STARTED)
            ABORT(7);
    }
}

/* The transaction loads the word here, and waits for the other thread to come to it. */
static __attribute__((noinline)) int load_and_wait(void)
{
    int status = begin();

    if (status == STARTED) {
        (void)*word; /* the load */
        for (;;)
            ;
    }
    return status;
}

static __attribute__((noinline)) void store_once(void)
{
    *word = 1; /* the store */
}

static void *other_thread(void *way)
{
    int pipes[2];

    /* The first thread cannot be seen in its transaction: give it time. */
    for (volatile int i = 0; i < TRIES; i++)
        ;
    if (strcmp(way, "kernel") != 0) {
        store_once();
    } else {
        EXPECT_EQUAL(pipe(pipes), 0);
        EXPECT_EQUAL(write(pipes[1], "eight by", sizeof *word), sizeof *word);
        EXPECT_EQUAL(read(pipes[0], (void *)word, sizeof *word), sizeof *word);
    }
    stored = 1;
    return NULL;
}

static void conflict(char *way)
{
    pthread_t thread = start_thread(other_thread, way);
    long conflicts = 0;

    while (!stored)
        conflicts += (load_and_wait() & CONFLICT) != 0;
    end_thread(thread);
    EXPECT(conflicts >= 1);
}

static __attribute__((noinline)) void *allocate_contended(void)
{
    void *block = aligned_alloc(64, BLOCK);

    memset(block, 0, BLOCK);
    return block;
}

static void end_in_some_way(const char *how)
{
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "signal") == 0)
        raise(SIGTERM);
    if (strcmp(how, "fault") == 0)
        *(volatile char *)(uintptr_t)stored = 0;
    if (strcmp(how, "exec") == 0)
        execl("/bin/true", "true", NULL);
    if (strcmp(how, "no_exec") == 0) {
        execl("/nonexistent/true", "true", NULL);
        commit(1);
    }
    if (strcmp(how, "fork") == 0 || strcmp(how, "orphan") == 0) {
        pid_t parent = getpid(), child = fork();
        if (child == 0) {
            commit(1);
            while (strcmp(how, "orphan") == 0 && getppid() == parent)
                usleep(10000);
            _exit(0);
        }
        if (strcmp(how, "fork") == 0)
            EXPECT_EQUAL(waitpid(child, NULL, 0), child);
        printf("%d %d\n", (int)getpid(), (int)child);
    }
}

int main(int count, char **arguments)
{
    EXPECT_EQUAL(count, 2);
    need_transactions();
    word = &contended.value;
    if (strcmp(arguments[1], "heap") == 0)
        word = (volatile long *)allocate_contended() + 3;
    if (strcmp(arguments[1], "variable") == 0 || strcmp(arguments[1], "heap") == 0 ||
        strcmp(arguments[1], "kernel") == 0) {
        conflict(arguments[1]);
        return 0;
    }
    commit(COMMITS);
    abort_explicitly(ABORTS);
    end_in_some_way(arguments[1]);
    return 0;
}
