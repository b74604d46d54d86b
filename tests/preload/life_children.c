/*
 * SPDX-License-Identifier: MIT
 *
 * A process in which all threads allocate, lock, and make children: by fork, whose child allocates,
 * locks and ends threads of its own at once, by vfork and by posix_spawn, whose children become
 * another program. All of them at the same time, and none of them waits for ever.
 *
 *   life_children CHILDREN       how many in all
 */
#include "expect_child.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MAKERS = 3, OTHERS = 2, CHILD_SECONDS = 60, SLOTS = 32 };

static pthread_mutex_t mutexes[4] = {
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
};
static char *slots[SLOTS]; /* guarded by the first mutex */
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static atomic_long wanted;
static atomic_bool stop;

/* What a library with a lock of its own does, so that its state is whole in the child. */
static void before_fork(void)
{
    EXPECT(pthread_mutex_lock(&own) == 0);
    EXPECT(pthread_mutex_lock(&mutexes[0]) == 0);
}

static void after_fork(void)
{
    EXPECT(pthread_mutex_unlock(&mutexes[0]) == 0);
    EXPECT(pthread_mutex_unlock(&own) == 0);
}

/* One thread's; the blocks of the slots are anybody's. */
static void allocate_and_lock(uint64_t *random)
{
    for (int i = 0; i < 12; i++) {
        size_t size = 1 + next_random(random) % (i == 0 ? 100000 : 1500);
        char *block = malloc(size);

        EXPECT(block != NULL);
        block[0] = block[size - 1] = 7;
        EXPECT(pthread_mutex_lock(&mutexes[0]) == 0);
        char **slot = &slots[next_random(random) % SLOTS], *old = *slot;
        *slot = block;
        EXPECT(pthread_mutex_unlock(&mutexes[0]) == 0);
        EXPECT(old == NULL || old[0] == 7);
        free(old);
    }
}

static void *allocate_and_lock_once(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    for (int i = 1; i < 4; i++) { /* in a child nobody holds these but in the child */
        EXPECT(pthread_mutex_lock(&own) == 0);
        free(malloc(next_random(&random) % 5000));
        EXPECT(pthread_mutex_unlock(&own) == 0);
    }
    allocate_and_lock(&random);
    return NULL;
}

static _Noreturn void be_a_child(uint64_t number)
{
    pthread_t thread;
    uint64_t random = number;

    begin_child(CHILD_SECONDS);
    allocate_and_lock(&random); /* at once */
    for (int i = 2; i < 4; i++) {
        EXPECT(pthread_mutex_lock(&mutexes[i]) == 0);
        EXPECT(i == 2 ? pthread_mutex_lock(&mutexes[i]) == 0
                      : pthread_mutex_lock(&mutexes[i]) == EDEADLK);
        EXPECT(pthread_mutex_unlock(&mutexes[i]) == 0);
        if (i == 2)
            EXPECT(pthread_mutex_unlock(&mutexes[i]) == 0);
    }
    if (number % 8 == 0) {
        EXPECT(pthread_create(&thread, NULL, allocate_and_lock_once, (void *)number) == 0);
        EXPECT(pthread_join(thread, NULL) == 0);
    }
    for (int i = 0; i < SLOTS; i++) /* what was inherited */
        free(slots[i]);
    if (number % 4 == 0)
        exit(0);
    _exit(0);
}

static char *const arguments_of_true[] = {(char *)"true", NULL};
static char *const no_environment[] = {NULL};

/* exec in the child, with memory that the parent allocated for it. */
static void make_by_vfork(void)
{
    char *path = strdup("/bin/true");
    pid_t child = vfork();

    if (child == 0) {
        execve(path, arguments_of_true, no_environment);
        _exit(127);
    }
    expect_clean_end(child);
    free(path);
}

static void make_by_spawn(void)
{
    pid_t child;

    EXPECT(posix_spawn(&child, "/bin/true", NULL, NULL, arguments_of_true, no_environment) == 0);
    expect_clean_end(child);
}

static void *make_children(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    long number;

    while ((number = atomic_fetch_sub(&wanted, 1)) > 0) {
        allocate_and_lock(&random);
        if (number % 32 == 1) {
            make_by_vfork();
        } else if (number % 32 == 2) {
            make_by_spawn();
        } else {
            pid_t child = fork();
            if (child == 0)
                be_a_child((uint64_t)number);
            expect_clean_end(child);
        }
    }
    return NULL;
}

static void *allocate_and_lock_all_the_time(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    while (!atomic_load(&stop)) {
        allocate_and_lock(&random);
        for (int i = 1; i < 4; i++) {
            EXPECT(pthread_mutex_lock(&own) == 0);
            free(malloc(next_random(&random) % 5000));
            EXPECT(pthread_mutex_unlock(&own) == 0);
        }
        usleep(50); /* else the forking threads get a small part of the time */
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t makers[MAKERS], others[OTHERS];

    if (count != 2 || atol(arguments[1]) <= 0) {
        fprintf(stderr, "life_children: wants one argument, the number of children\n");
        return 2;
    }
    atomic_store(&wanted, atol(arguments[1]));
    EXPECT(pthread_atfork(before_fork, after_fork, after_fork) == 0);
    for (uintptr_t i = 0; i < OTHERS; i++)
        EXPECT(pthread_create(&others[i], NULL, allocate_and_lock_all_the_time, (void *)i) == 0);
    for (uintptr_t i = 0; i < MAKERS; i++)
        EXPECT(pthread_create(&makers[i], NULL, make_children, (void *)(i + 10)) == 0);
    for (int i = 0; i < MAKERS; i++)
        EXPECT(pthread_join(makers[i], NULL) == 0);
    atomic_store(&stop, true);
    for (int i = 0; i < OTHERS; i++)
        EXPECT(pthread_join(others[i], NULL) == 0);
    return 0;
}
