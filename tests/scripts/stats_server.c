/*
 * SPDX-License-Identifier: MIT
 *
 * A server for the tests of "mplace stats": allocates and locks a known number of times, says that
 * it is ready, and then does nothing until its standard input ends. Blocks of all kinds are freed
 * by another thread, on another CPU if there is one, so that some are on their way home.
 *
 * usage: stats_server          one process
 *        stats_server fork     and a child, which locks 123 times; its id is said
 *        stats_server wait     and two threads that waited for a lock and go on locking it
 *        stats_server since    and 20 locks that were locked often, and a thread that since then
 *                              locks another one, and allocates blocks that it frees at once
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct kind {
    size_t bytes;
    int count;
} kinds[] = {{10, 3000},   {30, 500},    {100, 3000}, {5000, 200},
             {20000, 300}, {100000, 40}, {1 << 20, 6}};

enum { KINDS = sizeof kinds / sizeof kinds[0], MOST = 3000 };

static void *blocks[KINDS][MOST];
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void lock(pthread_mutex_t *mutex, int times)
{
    for (int i = 0; i < times; i++) {
        (void)pthread_mutex_lock(mutex);
        (void)pthread_mutex_unlock(mutex);
    }
}

static cpu_set_t may; /* where this process may run */

/* The n-th of those CPUs, or none. */
static void move_to_cpu(int n)
{
    cpu_set_t one;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &may) || n-- != 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
    }
}

static void *free_half(void *unused)
{
    move_to_cpu(1);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < kinds[kind].count; i += 2)
            free(blocks[kind][i]);
    }
    lock(&first, 700);
    return unused;
}

static void *lock_for_ever(void *unused)
{
    for (;;) {
        (void)pthread_mutex_lock(&first);
        (void)usleep(1000);
        (void)pthread_mutex_unlock(&first);
    }
    return unused;
}

static void *lock_another(void *unused)
{
    static pthread_mutex_t another = PTHREAD_MUTEX_INITIALIZER;

    for (;;) {
        lock(&another, 1);
        free(malloc(3000));
        (void)usleep(1000);
    }
    return unused;
}

static void lock_many_often(void)
{
    static pthread_mutex_t many[20];

    for (int i = 0; i < 20; i++) {
        (void)pthread_mutex_init(&many[i], NULL);
        lock(&many[i], 100000);
    }
}

static void work(void)
{
    pthread_t thread;

    (void)sched_getaffinity(0, sizeof may, &may);
    move_to_cpu(0);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < kinds[kind].count; i++) {
            blocks[kind][i] = malloc(kinds[kind].bytes);
            if (blocks[kind][i] != NULL)
                memset(blocks[kind][i], 1, kinds[kind].bytes);
        }
    }
    lock(&first, 300);
    lock(&second, 500);
    if (pthread_create(&thread, NULL, free_half, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(1);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    char line[32], byte;
    pid_t child = 0;

    work();
    if (strcmp(mode, "fork") == 0) {
        int counted[2];

        if (pipe(counted) != 0 || (child = fork()) < 0)
            return 1;
        if (child == 0) {
            lock(&second, 123);
            (void)!write(counted[1], "", 1);
            while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
            _exit(0);
        }
        (void)!read(counted[0], &byte, 1);
    }
    for (int i = 0; strcmp(mode, "wait") == 0 && i < 2; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, lock_for_ever, NULL) != 0)
            return 1;
    }
    if (strcmp(mode, "since") == 0) {
        pthread_t thread;

        lock_many_often();
        if (pthread_create(&thread, NULL, lock_another, NULL) != 0)
            return 1;
    }
    (void)snprintf(line, sizeof line, "ready %d\n", (int)child);
    (void)!write(STDOUT_FILENO, line, strlen(line));
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    if (child != 0)
        (void)waitpid(child, NULL, 0);
    return 0;
}
