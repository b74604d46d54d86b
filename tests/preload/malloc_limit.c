/*
 * SPDX-License-Identifier: MIT
 *
 * At a limit of the address space an allocation fails with ENOMEM, what was allocated stays intact,
 * and once something is freed, on whichever CPU, or the limit rises, allocation works again.
 */
#include "expect.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct rlimit unlimited;

static size_t address_space_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    EXPECT(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_to(size_t bytes_more)
{
    struct rlimit limit = unlimited;

    limit.rlim_cur = address_space_in_use() + bytes_more;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* A chain through the blocks themselves: there may be no memory for a table of them. */
struct link {
    struct link *next;
    uint64_t tag;
};

static struct link *fill_to_the_limit(size_t size, size_t *count)
{
    struct link *chain = NULL;

    for (*count = 0;; ++*count) {
        errno = 0;
        struct link *link = malloc(size);
        if (link == NULL) {
            EXPECT(errno == ENOMEM);
            return chain;
        }
        link->next = chain;
        link->tag = *count;
        chain = link;
    }
}

static void free_chain(struct link *chain, size_t count)
{
    while (chain != NULL) {
        struct link *next = chain->next;
        EXPECT(chain->tag == --count);
        free(chain);
        chain = next;
    }
    EXPECT(count == 0);
}

static void the_limit_is_enomem_and_the_blocks_come_back(size_t size)
{
    const size_t allowance = (size_t)48 << 20;
    size_t count, again;

    limit_to(allowance);
    struct link *chain = fill_to_the_limit(size, &count);
    /* Half of what the limit allows, with a generous overhead a block: allocators round up. */
    EXPECT(count * (size + size / 4 + 160) >= allowance / 2);
    errno = 0;
    EXPECT(calloc(allowance, 1) == NULL && errno == ENOMEM);
    errno = 0;
    EXPECT(memalign(4096, allowance) == NULL && errno == ENOMEM);
    EXPECT(chain != NULL && realloc(chain, allowance) == NULL && errno == ENOMEM);
    free_chain(chain, count);

    chain = fill_to_the_limit(size, &again);
    EXPECT(again >= count / 2);
    free_chain(chain, again);

    EXPECT(setrlimit(RLIMIT_AS, &unlimited) == 0);
    void *block = malloc(2 * allowance);
    EXPECT(block != NULL);
    free(block);
}

static void run_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
}

/* On the first and the last CPU that the process may use; one CPU does as well. */
static void what_is_freed_on_one_cpu_is_had_on_another(size_t size)
{
    cpu_set_t allowed;
    int first = -1, last = -1;
    size_t count, again;

    EXPECT(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed)) {
            first = first < 0 ? cpu : first;
            last = cpu;
        }
    }
    limit_to((size_t)24 << 20);
    run_on(first);
    struct link *chain = fill_to_the_limit(size, &count);
    free_chain(chain, count);
    run_on(last);
    chain = fill_to_the_limit(size, &again);
    EXPECT(again >= count - count / 4);
    free_chain(chain, again);
    EXPECT(sched_setaffinity(0, sizeof allowed, &allowed) == 0);
    EXPECT(setrlimit(RLIMIT_AS, &unlimited) == 0);
}

static void *fill_and_free(void *argument)
{
    size_t count;
    struct link *chain = fill_to_the_limit(600, &count);

    (void)argument;
    free_chain(chain, count);
    return NULL;
}

static void threads_may_hit_the_limit_together(void)
{
    pthread_t threads[4];
    pthread_attr_t attributes;
    int started = 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    limit_to((size_t)40 << 20);
    for (int i = 0; i < 4; i++) /* a thread itself may find no memory for its stack */
        started += pthread_create(&threads[started], &attributes, fill_and_free, NULL) == 0;
    EXPECT(started > 0);
    for (int i = 0; i < started; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(setrlimit(RLIMIT_AS, &unlimited) == 0);
    void *block = malloc(100);
    EXPECT(block != NULL);
    free(block);
}

int main(void)
{
    static const size_t sizes[] = {16, 100, 2000, 50000, 1 << 20};

    EXPECT(getrlimit(RLIMIT_AS, &unlimited) == 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        the_limit_is_enomem_and_the_blocks_come_back(sizes[i]);
    what_is_freed_on_one_cpu_is_had_on_another(16);
    what_is_freed_on_one_cpu_is_had_on_another(100);
    threads_may_hit_the_limit_together();
    return 0;
}
