/*
 * SPDX-License-Identifier: MIT
 *
 * gcc's transactional memory (-fgnu-tm): libitm runs atomic blocks as RTM transactions where CPUID
 * offers RTM. This program has no transaction instruction of its own; how many of them libitm ran,
 * the emulator counts.
 */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 2000, CELLS = 32 };

static long cells[CELLS];

static void *work(void *argument)
{
    unsigned state = *(unsigned *)argument;

    for (int i = 0; i < ROUNDS; i++) {
        state = state * 1103515245 + 12345;
        unsigned from = state >> 8 & (CELLS - 1), to = state >> 16 & (CELLS - 1);

        __transaction_atomic
        {
            cells[from]--;
            cells[to]++;
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    long sum = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < CELLS; i++)
        sum += cells[i];
    if (sum != 0)
        fprintf(stderr, "the cells add up to %ld, not 0\n", sum);
    return sum != 0;
}
