/*
 * SPDX-License-Identifier: MIT
 *
 * Threads whose transactions have nothing in common, for lines_test.py: each reads, or writes, data
 * of its own in a part of the lock table of its own. What is counted is between the marks. Prints
 * where libtm_runtime.so lies.
 *
 *   usage: tm_private read|write
 */
#include <mplace_trace.h>

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, BEFORE = 10, COUNTED = 100, WORDS = 512 };

/* Aligned so that the upper bits of all addresses are the same: no two stripes share a lock. */
static _Alignas(16384) long data[THREADS][WORDS];
static pthread_barrier_t barrier;
static int writes;

__attribute__((noinline)) static long read_own(const long *own, int turn)
{
    long sum;

    __transaction_atomic
    {
        sum = own[turn % WORDS] + own[(turn + 8) % WORDS];
    }
    return sum;
}

__attribute__((noinline)) static long write_own(long *own, int turn)
{
    __transaction_atomic
    {
        own[turn % WORDS]++;
        own[(turn + 8) % WORDS]++;
    }
    return 0;
}

static long run(long *own, int times)
{
    long sum = 0;

    for (int turn = 0; turn < times; turn++)
        sum += writes ? write_own(own, turn) : read_own(own, turn);
    return sum;
}

static void *work(void *own)
{
    long sum = run(own, BEFORE);

    pthread_barrier_wait(&barrier);
    mplace_trace_begin();
    sum += run(own, COUNTED);
    mplace_trace_end();
    /* A thread that ends writes lines that all look at. */
    pthread_barrier_wait(&barrier);
    return sum == 0 ? NULL : own;
}

static int print_base(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (strstr(info->dlpi_name, "libtm_runtime") != NULL)
        printf("%#lx\n", (unsigned long)info->dlpi_addr);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc != 2 || (strcmp(argv[1], "read") != 0 && strcmp(argv[1], "write") != 0)) {
        fprintf(stderr, "usage: tm_private read|write\n");
        return 2;
    }
    writes = strcmp(argv[1], "write") == 0;
    dl_iterate_phdr(print_base, NULL);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, data[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
