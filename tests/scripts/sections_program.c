/*
 * SPDX-License-Identifier: MIT
 *
 * What mplace doctor --sections is asked to look at: critical sections that something known keeps
 * from being transactions.
 *
 *   usage: sections_program KIND
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 50, ROUNDS = 3000, PAGE = 4096, BLOCKS = 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
/* Not at the beginning of a line: the counter is to be named, not its line. */
static struct {
    long others[3];
    volatile long shared_counter;
} totals __attribute__((aligned(64)));

static void *checked(void *block)
{
    if (block == NULL) {
        perror("malloc");
        exit(1);
    }
    return block;
}

static pthread_t start(void *(*function)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, function, NULL) != 0)
        exit(1);
    return thread;
}

static __attribute__((noinline)) void write_a_byte(const char *byte)
{
    if (write(STDOUT_FILENO, byte, 1) != 1) /* here is the write */
        exit(1);
}

static void write_in_a_section(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex); /* here is the section that writes */
        write_a_byte("w");
        pthread_mutex_unlock(&mutex);
    }
}

/* To do without one of the two wins nothing. */
static void write_twice_in_a_section(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex);
        write_a_byte("w");
        if (write(STDOUT_FILENO, "x", 1) != 1) /* here is the second write */
            exit(1);
        pthread_mutex_unlock(&mutex);
    }
}

static int waits, signalled;

static void *wait_for_signals(void *nothing)
{
    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex);
        waits = 1;
        while (!signalled)
            pthread_cond_wait(&condition, &mutex); /* here is the wait */
        signalled = 0;
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

/* Signals only to one that waits: any other signal calls nobody. */
static int signal_a_waiter(void)
{
    int done;

    pthread_mutex_lock(&mutex); /* here is the section that signals */
    done = waits;
    if (done) {
        waits = 0;
        signalled = 1;
        pthread_cond_signal(&condition); /* here is the signal */
    }
    pthread_mutex_unlock(&mutex);
    return done;
}

static void signal_in_a_section(void)
{
    pthread_t waiter = start(wait_for_signals);

    for (int i = 0; i < ENTRIES; i++) {
        while (!signal_a_waiter())
            usleep(100);
    }
    pthread_join(waiter, NULL);
}

static void touch_in_a_section(void)
{
    char *pages = checked(malloc((ENTRIES + 1) * PAGE)); /* here is the new memory */

    for (int i = 1; i <= ENTRIES; i++) {
        pthread_mutex_lock(&mutex);
        *(volatile char *)&pages[i * PAGE] = 1; /* here is the first touch */
        pthread_mutex_unlock(&mutex);
    }
    free(pages);
}

static void overflow_in_a_section(void)
{
    char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = checked(aligned_alloc(PAGE, PAGE)); /* here are the blocks */
        memset(blocks[i], 0, PAGE);
    }
    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex);
        for (int block = 0; block < BLOCKS; block++)
            *(volatile char *)blocks[block] = 1; /* here is the store too many */
        pthread_mutex_unlock(&mutex);
    }
}

static void *count(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex); /* here is the section that counts */
        totals.shared_counter++;    /* here is the shared counter */
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

static void count_in_two_threads(void)
{
    pthread_t one = start(count), other = start(count);

    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

static void *hold_the_inner_lock(void *nothing)
{
    pthread_mutex_lock(&inner); /* here is the holder */
    write_a_byte("h");
    __atomic_store_n(&totals.shared_counter, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&totals.shared_counter, __ATOMIC_ACQUIRE) != 2)
        usleep(100);
    pthread_mutex_unlock(&inner);
    return nothing;
}

static void *enter_both(void *nothing)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&inner); /* here is the inner lock */
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

/* Until the transaction has met the held lock, and the thread waits for it: the holder may not go
 * before, and what it waits for may not be the lock. */
static void hold_a_lock_inside(void)
{
    pthread_t holder = start(hold_the_inner_lock), visitor;

    while (__atomic_load_n(&totals.shared_counter, __ATOMIC_ACQUIRE) != 1)
        usleep(100);
    visitor = start(enter_both);
    while (pthread_mutex_trylock(&mutex) == 0) {
        pthread_mutex_unlock(&mutex);
        usleep(100);
    }
    __atomic_store_n(&totals.shared_counter, 2, __ATOMIC_RELEASE);
    pthread_join(holder, NULL);
    pthread_join(visitor, NULL);
}

static void try_a_lock_inside(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex);
        if (pthread_mutex_trylock(&inner) == 0) /* here is the trylock */
            pthread_mutex_unlock(&inner);
        pthread_mutex_unlock(&mutex);
    }
}

static void lock_until_inside(void)
{
    struct timespec past = {.tv_sec = 1};

    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex);
        if (pthread_mutex_timedlock(&inner, &past) == 0) /* here is the timed lock */
            pthread_mutex_unlock(&inner);
        pthread_mutex_unlock(&mutex);
    }
}

static void take_a_recursive_lock(void)
{
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&recursive); /* here is the recursive lock */
        pthread_mutex_lock(&recursive);
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&recursive);
    }
}

static void commit(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        pthread_mutex_lock(&mutex); /* here is the section that commits */
        totals.shared_counter++;
        pthread_mutex_unlock(&mutex);
    }
}

static void take_no_lock(void)
{
    totals.shared_counter++;
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"write", write_in_a_section},
    {"twice", write_twice_in_a_section},
    {"signal", signal_in_a_section},
    {"touch", touch_in_a_section},
    {"overflow", overflow_in_a_section},
    {"counter", count_in_two_threads},
    {"inner", hold_a_lock_inside},
    {"trylock", try_a_lock_inside},
    {"timedlock", lock_until_inside},
    {"recursive", take_a_recursive_lock},
    {"commit", commit},
    {"none", take_no_lock},
};

int main(int count_of_arguments, char **arguments)
{
    for (size_t i = 0; count_of_arguments == 2 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(arguments[1], kinds[i].name) == 0) {
            kinds[i].run();
            return 0;
        }
    }
    (void)fprintf(stderr, "usage: sections_program KIND\n");
    return 2;
}
