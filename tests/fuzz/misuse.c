/*
 * SPDX-License-Identifier: MIT
 *
 * What libcia_malloc.so does to a program that misuses it: one line on stderr that names the
 * address, and SIGABRT. Every case runs in a child of its own; for every size, both in a process
 * that hardly ever asked for that size and in one that has done so thousands of times, since its
 * blocks go other ways then.
 *
 * An address that is no block is noticed always. A block freed twice is noticed always where both
 * frees happen on one CPU; on two it may wait on both, and docs/internals.md says what comes of
 * that. So a child that frees twice stays on the CPU where it begins: a scheduler that moves it in
 * between would make the test a matter of luck. Where the kernel refuses, it is one.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM_UP = 5000, FREED_MOST = 70, CHILD_SECONDS = 60 };

/* In the child: the address that the line has to name is told to the parent before it is wrong. */
static void **named;
static size_t size;

static void *a_block(void)
{
    void *block = malloc(size);

    if (block == NULL)
        _exit(2);
    memset(block, 1, size);
    return block;
}

/* Volatile: no compiler shall see what is done with it. */
static void free_wrongly(void *volatile block)
{
    *named = block;
    free(block);
}

static void a_block_freed_twice_at_once(void)
{
    void *block = a_block();

    free(block);
    free_wrongly(block);
}

/* So many blocks are freed before it: caches of free blocks fill up and are handed on. */
static unsigned freed_before;

static void a_block_freed_twice_at_once_after_others(void)
{
    static void *blocks[FREED_MOST + 1];

    for (unsigned i = 0; i <= freed_before; i++)
        blocks[i] = a_block();
    for (unsigned i = 0; i <= freed_before; i++)
        free(blocks[i]);
    free_wrongly(blocks[freed_before]);
}

static void a_zeroed_block_freed_twice(void)
{
    void *block = calloc(1, size);

    free(block);
    free_wrongly(block);
}

static void *free_twice(void *block)
{
    free(block);
    free_wrongly(block);
    return NULL;
}

static void a_block_freed_twice_by_another_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, free_twice, a_block()) == 0)
        pthread_join(thread, NULL);
}

static void a_freed_block_reallocated_to_more(void)
{
    char *volatile block = a_block();

    free(block);
    *named = block;
    free(realloc(block, size * 3));
}

static void a_freed_block_reallocated_to_nothing(void)
{
    char *volatile block = a_block();

    free(block);
    *named = block;
    free(realloc(block, 0));
}

static void an_aligned_block_freed_twice(void)
{
    void *block = aligned_alloc(256, size);

    free(block);
    free_wrongly(block);
}

static void the_second_word_of_a_block(void)
{
    free_wrongly((char *)a_block() + 8);
}

static void an_odd_address_in_a_block(void)
{
    free_wrongly((char *)a_block() + 1);
}

static void sixteen_bytes_into_a_block(void)
{
    free_wrongly((char *)a_block() + 16);
}

static void an_address_before_a_block(void)
{
    free_wrongly((char *)a_block() - 16);
}

static void the_second_line_of_a_block(void)
{
    char *block = a_block();

    /* A block of one line has none: its neighbour is another block. */
    free_wrongly(block + (malloc_usable_size(block) > 64 ? 64 : 32));
}

static void realloc_of_the_inside_of_a_block(void)
{
    char *volatile inside = (char *)a_block() + 16;

    *named = inside;
    free(realloc(inside, size + 1));
}

static void the_usable_size_of_the_inside_of_a_block(void)
{
    char *volatile inside = (char *)a_block() + 16;

    *named = inside;
    if (malloc_usable_size(inside) > 0)
        _exit(3);
}

static void an_address_on_the_stack(void)
{
    char here[256];

    free(a_block());
    free_wrongly((void *)(((uintptr_t)here + 127) & ~(uintptr_t)63));
}

static void a_static_variable(void)
{
    static _Alignas(64) char here[256];

    free(a_block());
    free_wrongly(here);
}

static void memory_of_mmap(void)
{
    char *mapped = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    free(a_block());
    free_wrongly(mapped + (4 << 20));
}

static void an_address_that_nothing_can_have(void)
{
    free(a_block());
    free_wrongly((void *)(uintptr_t)0xdeadbeefdeadbe00);
}

static void a_small_number(void)
{
    free_wrongly((void *)(uintptr_t)64);
}

static void realloc_of_a_static_variable(void)
{
    static _Alignas(64) char here[256];
    char *volatile foreign = here;

    *named = foreign;
    free(realloc(foreign, 500));
}

struct misuse {
    const char *name;
    void (*run)(void);
    bool on_one_cpu;
};

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name, false                                                                         \
    }
#define DOUBLE_FREE(name)                                                                          \
    {                                                                                              \
#name, name, true                                                                          \
    }

static const struct misuse after_others = DOUBLE_FREE(a_block_freed_twice_at_once_after_others);
static const struct misuse cases[] = {
    DOUBLE_FREE(a_block_freed_twice_at_once),
    DOUBLE_FREE(a_block_freed_twice_at_once_after_others),
    DOUBLE_FREE(a_zeroed_block_freed_twice),
    DOUBLE_FREE(a_block_freed_twice_by_another_thread),
    DOUBLE_FREE(a_freed_block_reallocated_to_more),
    DOUBLE_FREE(a_freed_block_reallocated_to_nothing),
    DOUBLE_FREE(an_aligned_block_freed_twice),
    CASE(the_second_word_of_a_block),
    CASE(an_odd_address_in_a_block),
    CASE(sixteen_bytes_into_a_block),
    CASE(an_address_before_a_block),
    CASE(the_second_line_of_a_block),
    CASE(realloc_of_the_inside_of_a_block),
    CASE(the_usable_size_of_the_inside_of_a_block),
    CASE(an_address_on_the_stack),
    CASE(a_static_variable),
    CASE(memory_of_mmap),
    CASE(an_address_that_nothing_can_have),
    CASE(a_small_number),
    CASE(realloc_of_a_static_variable),
};

/* A size that is in heavy use; some blocks are left behind where an odd number will be freed. */
static void warm_up(void)
{
    static void *blocks[100];

    for (int i = 0; i < WARM_UP; i++)
        free(a_block());
    for (unsigned i = 0; i < 100 && freed_before % 2 != 0; i++)
        blocks[i] = a_block();
    for (unsigned i = 0; i < 100; i += 2)
        free(blocks[i]);
}

/* With every thread that it starts from now on. */
static void stay_on_this_cpu(void)
{
    int cpu = sched_getcpu();
    cpu_set_t here;

    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    (void)sched_setaffinity(0, sizeof here, &here);
}

/* What the child says on stderr, and how it ends. */
static int run_in_a_child(const struct misuse *misuse, bool warm, char *said, size_t most)
{
    int ends[2], status = 0;
    ssize_t got;
    size_t length = 0;

    if (pipe(ends) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        dup2(ends[1], STDERR_FILENO);
        if (misuse->on_one_cpu)
            stay_on_this_cpu();
        if (warm)
            warm_up();
        misuse->run();
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], said + length, most - 1 - length)) > 0 ||
           (got < 0 && errno == EINTR))
        length += got > 0 ? (size_t)got : 0;
    said[length] = '\0';
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    return status;
}

static bool is_one_line_that_names(const char *said, const void *address)
{
    static const char ours[] = "libcia_malloc: ";
    char name[32];
    const char *end = strchr(said, '\n');

    snprintf(name, sizeof name, "%p", address);
    return strncmp(said, ours, sizeof ours - 1) == 0 && end != NULL && end[1] == '\0' &&
           strstr(said, name) != NULL;
}

static bool is_noticed(const struct misuse *misuse, bool warm)
{
    char said[4096];

    *named = NULL;
    int status = run_in_a_child(misuse, warm, said, sizeof said);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && is_one_line_that_names(said, *named))
        return true;
    dprintf(STDERR_FILENO, "misuse: %s, %zu bytes, %s, %u freed before: status %#x, %p, said: %s\n",
            misuse->name, size, warm ? "in heavy use" : "hardly used", freed_before, status, *named,
            said[0] != '\0' ? said : "nothing");
    return false;
}

int main(void)
{
    static const size_t sizes[] = {24, 60, 130, 1000, 4000, 15000, 40000, 100000, 3 << 20};
    int failures = 0;

    named = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (named == MAP_FAILED)
        return 2;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size = sizes[s];
        for (int warm = 0; warm < (size < 50000 ? 2 : 1); warm++) {
            freed_before = 0;
            for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
                failures += !is_noticed(&cases[c], warm != 0);
            for (; size < 50000 && freed_before < FREED_MOST; freed_before++)
                failures += !is_noticed(&after_others, warm != 0);
        }
    }
    return failures > 0;
}
