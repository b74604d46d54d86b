/*
 * SPDX-License-Identifier: MIT
 *
 * What mplace doctor is asked to look at: a list whose nodes share cache sets, and programs that
 * miss as often, or look alike, and of which placement is not to blame.
 *
 *   usage: doctor_program KIND [SIZE]
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 128, WALKS = 300, LINE = 64, L1_BYTES = 64 * 8 * 64 };

struct node {
    struct node *next;
    long value;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t asked_to_end;

static void *checked(void *block)
{
    if (block == NULL) {
        perror("malloc");
        exit(1);
    }
    return block;
}

/* Every node from a malloc of its own, as programs do. */
static __attribute__((noinline)) struct node *plant(size_t size)
{
    struct node *list = NULL;

    for (int i = 0; i < NODES; i++) {
        struct node *node = checked(malloc(size)); /* here is what the doctor has to name */
        node->next = list;
        node->value = i;
        list = node;
    }
    return list;
}

/* The same nodes; each second one is of another call in the same line. */
static __attribute__((noinline)) struct node *plant_in_pairs(size_t size)
{
    struct node *list = NULL;

    for (int i = 0; i < NODES; i++) {
        struct node *node = i % 2 != 0 ? checked(malloc(size)) : checked(malloc(size + 1));
        node->next = list;
        list = node;
    }
    return list;
}

static __attribute__((noinline)) void walk(struct node *list)
{
    for (struct node *node = list; node != NULL; node = node->next)
        node->value++;
}

static void walk_often(struct node *list)
{
    for (int i = 0; i < WALKS; i++)
        walk(list);
}

static void walk_locked(size_t size)
{
    struct node *list = plant(size);

    for (int i = 0; i < WALKS; i++) {
        pthread_mutex_lock(&mutex); /* here is the section that overflows */
        walk(list);
        pthread_mutex_unlock(&mutex);
    }
}

static void *lock_and_end(void *robust)
{
    pthread_mutex_lock(robust);
    return NULL;
}

/* Around the lock that a thread has left behind goes on the section that it is in. */
static void walk_around_a_dead_owners_lock(size_t size)
{
    struct node *list = plant(size);
    pthread_mutexattr_t attributes;
    pthread_mutex_t robust;
    pthread_t thread;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&thread, NULL, lock_and_end, &robust);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&mutex);
    if (pthread_mutex_lock(&robust) == EOWNERDEAD)
        pthread_mutex_unlock(&robust);
    walk(list);
    pthread_mutex_unlock(&mutex);
}

static void walk_with_each_lock(size_t size)
{
    struct node *list = plant(size);
    pthread_spinlock_t spin;

    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < WALKS; i++) {
        pthread_rwlock_rdlock(&rwlock); /* a section of a reader */
        walk(list);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_trywrlock(&rwlock); /* of a writer */
        walk(list);
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin); /* of a spin lock */
        walk(list);
        pthread_spin_unlock(&spin);
    }
}

/* One block whose lines are a page apart: they share a set wherever the block lies. */
static void walk_column(void)
{
    enum { ROWS = 64, PITCH = 4096 };
    volatile char *matrix = checked(calloc(ROWS, PITCH));

    for (int i = 0; i < WALKS; i++) {
        for (int row = 0; row < ROWS; row++)
            matrix[row * PITCH]++;
    }
}

/* More lines than the cache has, evenly. */
static void walk_too_much(void)
{
    volatile char *block = checked(malloc(4 * L1_BYTES));

    for (int i = 0; i < 20; i++) {
        for (size_t at = 0; at < 4 * L1_BYTES; at += LINE)
            block[at]++;
    }
}

/* A thread's share is more than half of a cache: two have room in two caches, in one they have not.
 */
static void *walk_share(void *barrier)
{
    enum { BYTES = L1_BYTES * 5 / 8 };
    volatile char *share = checked(malloc(BYTES));

    for (int i = 0; i < WALKS; i++) {
        for (size_t at = 0; at < BYTES; at += LINE)
            share[at]++;
        pthread_barrier_wait(barrier); /* the other's turn */
    }
    return NULL;
}

static void walk_by_two(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;

    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, walk_share, &barrier) != 0)
        exit(1);
    walk_share(&barrier);
    pthread_join(thread, NULL);
}

static void *answer(void *done)
{
    pthread_mutex_lock(&mutex);
    *(int *)done = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* The list is walked in a section before a wait, in one part, and after it, where nobody looks. */
static void walk_and_wait(size_t size)
{
    struct node *list = plant(size);
    pthread_t thread;
    int done = 0;

    pthread_mutex_lock(&mutex);
    if (pthread_create(&thread, NULL, answer, &done) != 0)
        exit(1);
    while (!done)
        pthread_cond_wait(&condition, &mutex);
    walk(list);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

/* A section that the program ends in. */
static void walk_and_keep(size_t size)
{
    struct node *list = plant(size);

    pthread_mutex_lock(&mutex);
    walk(list);
}

/* The child does what is bad, and the parent nothing. */
static void walk_in_child(size_t size)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        walk_often(plant(size));
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        exit(1);
}

static void copy_input(void)
{
    char buffer[4096];
    ssize_t got;

    while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < 3 * got; i++) /* how much it read shows in its accesses */
            __asm__ volatile("" : : "r"(*(volatile char *)&buffer[i / 3]));
        if (write(STDOUT_FILENO, buffer, (size_t)got) != got)
            exit(1);
    }
}

static void note_signal(int number)
{
    asked_to_end = number;
}

static void serve(void)
{
    struct sigaction action = {.sa_handler = note_signal};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    puts("ready");
    fflush(stdout);
    while (!asked_to_end)
        usleep(10000);
    puts(asked_to_end == SIGTERM ? "ended" : "interrupted");
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;

    if (strcmp(kind, "list") == 0)
        walk_often(plant(size));
    else if (strcmp(kind, "pairs") == 0)
        walk_often(plant_in_pairs(size));
    else if (strcmp(kind, "locked") == 0)
        walk_locked(size);
    else if (strcmp(kind, "each-lock") == 0)
        walk_with_each_lock(size);
    else if (strcmp(kind, "dead-owner") == 0)
        walk_around_a_dead_owners_lock(size);
    else if (strcmp(kind, "column") == 0)
        walk_column();
    else if (strcmp(kind, "much") == 0)
        walk_too_much();
    else if (strcmp(kind, "threads") == 0)
        walk_by_two();
    else if (strcmp(kind, "wait") == 0)
        walk_and_wait(size);
    else if (strcmp(kind, "keep") == 0)
        walk_and_keep(size);
    else if (strcmp(kind, "child") == 0)
        walk_in_child(size);
    else if (strcmp(kind, "list-then-exec") == 0 && argc > 2) {
        walk_often(plant(500));
        execl(argv[2], argv[2], (char *)NULL);
    } else if (strcmp(kind, "copy") == 0)
        copy_input();
    else if (strcmp(kind, "idle") == 0)
        pause();
    else if (strcmp(kind, "serve") == 0)
        serve();
    else
        return 3;
    return 0;
}
