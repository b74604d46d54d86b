/*
 * SPDX-License-Identifier: MIT
 *
 * A process that may use one CPU, as in a small container on a large machine: that CPU's number may
 * be above the count of those it has. What it takes follows the CPUs that it really uses: many
 * threads, one after the other, have one sub-heap between them.
 */
#include "expect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { THREADS = 40 };

static void stay_on_the_last_cpu(void)
{
    cpu_set_t allowed, one;
    int last = -1;

    EXPECT(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            last = cpu;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void *allocate_and_free(void *argument)
{
    static const size_t sizes[] = {1, 24, 100, 1000, 3000, 20000, 100000};
    char *blocks[sizeof sizes / sizeof sizes[0]];

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        EXPECT((blocks[i] = malloc(sizes[i])) != NULL);
        fill_pattern(blocks[i], 0, sizes[i], i);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        EXPECT(holds_pattern(blocks[i], 0, sizes[i], i));
        free(blocks[i]);
    }
    return argument;
}

/* As malloc_stats tells it; 0 where it does not. */
static unsigned sub_heaps(void)
{
    static char text[1 << 16];
    int ends[2], saved = dup(STDERR_FILENO);
    unsigned count = 0;

    EXPECT(saved >= 0 && pipe2(ends, O_NONBLOCK) == 0);
    EXPECT(fcntl(ends[1], F_SETPIPE_SZ, sizeof text) > 0);
    dup2(ends[1], STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    EXPECT(length > 0);
    const char *line = strstr(text, "  subheaps ");
    if (line != NULL)
        EXPECT(sscanf(line, " subheaps %u", &count) == 1);
    return count;
}

int main(void)
{
    stay_on_the_last_cpu(); /* before the first block */
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;

        EXPECT(pthread_create(&thread, NULL, allocate_and_free, NULL) == 0);
        EXPECT(pthread_join(thread, NULL) == 0);
        allocate_and_free(NULL);
    }
    /* Of the chunks alone: the address space of a few, not of one a thread or a CPU. */
    EXPECT(mallinfo2().arena <= (size_t)16 << 20);
    unsigned count = sub_heaps();
    EXPECT((count > 0) == (dlsym(RTLD_DEFAULT, "mplace_malloc_name") != NULL));
    EXPECT(count <= 1);
    return 0;
}
