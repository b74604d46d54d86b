/*
 * SPDX-License-Identifier: MIT
 *
 * What mplace doctor --sharing is asked to look at: two threads whose lines move between cores for
 * a known reason, or do not move.
 *
 *   usage: sharing_program KIND
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20000, LINE = 64 };

struct pair {
    long first, second;
};

struct account {
    pthread_mutex_t mutex;
    long balance;
};

static void *checked(void *block)
{
    if (block == NULL) {
        perror("malloc");
        exit(1);
    }
    return memset(block, 0, 16);
}

static pthread_barrier_t beginning;

/* Two threads that begin together: of a pair that comes one after the other no line moves twice. */
static void run_both(void *(*first)(void *), void *of_first, void *(*second)(void *),
                     void *of_second)
{
    pthread_t one, other;

    if (pthread_barrier_init(&beginning, NULL, 2) != 0 ||
        pthread_create(&one, NULL, first, of_first) != 0 ||
        pthread_create(&other, NULL, second, of_second) != 0)
        exit(1);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

static void *count_first(void *counter)
{
    pthread_barrier_wait(&beginning);
    for (int i = 0; i < ROUNDS; i++)
        ++*(volatile long *)counter; /* here is the first thread's counter */
    return NULL;
}

static void *count_second(void *counter)
{
    pthread_barrier_wait(&beginning);
    for (int i = 0; i < ROUNDS; i++)
        ++*(volatile long *)counter; /* here is the second thread's counter */
    return NULL;
}

static void two_counters_in_a_block(void)
{
    struct pair *pair = checked(aligned_alloc(LINE, LINE)); /* here is the block of both */

    run_both(count_first, &pair->first, count_second, &pair->second);
}

static __attribute__((noinline)) void *red_block(void)
{
    return checked(malloc(16)); /* here is the red block */
}

static __attribute__((noinline)) void *blue_block(void)
{
    return checked(malloc(16)); /* here is the blue block */
}

static int in_one_line(const void *one, const void *other)
{
    return (uintptr_t)one / LINE == (uintptr_t)other / LINE;
}

/* Blocks 32 B apart: the middle one is in a line with the one before or with the one behind. */
static void two_blocks_in_a_line(void)
{
    void *before = red_block(), *middle = blue_block(), *behind = red_block();

    run_both(count_first, in_one_line(before, middle) ? before : behind, count_second, middle);
}

static void *add_atomically(void *counter)
{
    pthread_barrier_wait(&beginning);
    for (int i = 0; i < ROUNDS; i++)
        __atomic_fetch_add((long *)counter, 1, __ATOMIC_SEQ_CST); /* here is the shared counter */
    return NULL;
}

static void a_counter_of_both(void)
{
    long *counter = checked(aligned_alloc(LINE, LINE)); /* here is the counter's block */

    run_both(add_atomically, counter, add_atomically, counter);
}

static void *pay_in(void *argument)
{
    struct account *account = argument;

    pthread_barrier_wait(&beginning);
    for (int i = 0; i < ROUNDS / 20; i++) {
        pthread_mutex_lock(&account->mutex); /* here is the lock */
        account->balance++;                  /* here is its data */
        pthread_mutex_unlock(&account->mutex);
    }
    return NULL;
}

static void a_lock_and_its_data(void)
{
    struct account *account = checked(aligned_alloc(LINE, LINE)); /* here is the account */

    pthread_mutex_init(&account->mutex, NULL);
    account->balance = 0;
    run_both(pay_in, account, pay_in, account);
}

static void a_line_for_each(void)
{
    long *counters = checked(aligned_alloc(LINE, 4 * LINE));

    run_both(count_first, counters, count_second, counters + 2 * LINE / sizeof *counters);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"counters", two_counters_in_a_block},
    {"blocks", two_blocks_in_a_line},
    {"shared", a_counter_of_both},
    {"lock", a_lock_and_its_data},
    {"apart", a_line_for_each},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof programs[0]; i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            programs[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: sharing_program counters|blocks|shared|lock|apart\n");
    return 2;
}
