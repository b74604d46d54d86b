/*
 * SPDX-License-Identifier: MIT
 *
 * Threads come and go by the thousand. Each takes blocks, leaves half of them to whoever is next,
 * frees what others left, and ends while they do the same; so most blocks are freed when the thread
 * that allocated them is no more. Memory stays what it was after the first two thousand.
 *
 *   life_threads THREADS         how many in all
 */
#include "expect.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { AT_A_TIME = 8, BLOCKS = 24, SHARED = 256, WARM = 2000, CPUS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
/* Guarded by mutex. */
static char *shared[SHARED];
static size_t sizes[SHARED];

static void leave(char *block, size_t size, uint64_t place)
{
    EXPECT(pthread_mutex_lock(&mutex) == 0);
    char *old = shared[place];
    size_t old_size = sizes[place];
    shared[place] = block;
    sizes[place] = size;
    EXPECT(pthread_mutex_unlock(&mutex) == 0);
    EXPECT(old == NULL || holds_pattern(old, 0, old_size, old_size));
    free(old);
}

/* The thread's last act: libc runs it after the thread's function has returned. */
static void free_the_last_block(void *block)
{
    free(block);
}

static void *live_shortly(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    char *own[BLOCKS];

    EXPECT(pthread_setspecific(key, malloc(300)) == 0);
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = 1 + next_random(&random) % 2000;
        own[i] = malloc(size);
        EXPECT(own[i] != NULL);
        fill_pattern(own[i], 0, size, size);
        if (i % 2 == 0)
            leave(own[i], size, next_random(&random) % SHARED);
    }
    for (int i = 1; i < BLOCKS; i += 2)
        free(own[i]);
    return NULL;
}

/* Resident pages; -1 where there is no /proc. */
static long resident_pages(void)
{
    char text[100] = "";
    long size, resident = -1;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return -1;
    if (read(file, text, sizeof text - 1) <= 0 || sscanf(text, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    close(file);
    return resident;
}

/* Each CPU has memory of its own that waits there; the first threads must have been on all. */
static void stay_on_few_cpus(void)
{
    cpu_set_t all, few;

    CPU_ZERO(&few);
    EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < CPUS; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &few);
    EXPECT(sched_setaffinity(0, sizeof few, &few) == 0);
}

int main(int count, char **arguments)
{
    long threads = count == 2 ? atol(arguments[1]) : 0, warm = 0;
    pthread_t running[AT_A_TIME];

    if (threads < 2 * WARM) {
        fprintf(stderr, "life_threads: wants the number of threads, %d or more\n", 2 * WARM);
        return 2;
    }
    stay_on_few_cpus();
    EXPECT(pthread_key_create(&key, free_the_last_block) == 0);
    for (long i = 0; i < threads; i++) {
        if (i >= AT_A_TIME)
            EXPECT(pthread_join(running[i % AT_A_TIME], NULL) == 0);
        if (i == WARM)
            warm = resident_pages();
        EXPECT(pthread_create(&running[i % AT_A_TIME], NULL, live_shortly,
                              (void *)(uintptr_t)(i + 1)) == 0);
    }
    for (int i = 0; i < AT_A_TIME; i++)
        EXPECT(pthread_join(running[i], NULL) == 0);
    long now = resident_pages();
    printf("resident pages: %ld after %d threads, %ld after %ld\n", warm, WARM, now, threads);
    /* Stacks that libc keeps and magazines that open are 50 to 400 pages, and no more however many
       threads come; what is lost a thread adds up. 4 B a thread are let pass, and 1024 pages: found
       is 1 KiB a thread in six thousand, and 50 B in a hundred thousand. */
    EXPECT(warm < 0 || now - warm < 1024 + (threads - WARM) / 1024);
    return 0;
}
