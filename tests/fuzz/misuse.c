/*
 * SPDX-License-Identifier: MIT
 *
 * What libcia_malloc.so and libbank_malloc.so do to a program that misuses it: one line on stderr
 * that names the address, and SIGABRT. Every case runs in a child of its own; for every size, both
 * in a process that hardly ever asked for that size and in one that has done so thousands of times,
 * since its blocks go other ways then.
 *
 * An address that is no block is noticed always. A block freed twice is noticed always where both
 * frees happen on one CPU; on two it may wait on both, and docs/internals.md says what comes of
 * that. So a child that frees twice stays on the CPU where it begins: a scheduler that moves it in
 * between would make the test a matter of luck. Where the kernel refuses, it is one.
 */
#include "misuse_child.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WARM_UP = 5000, FREED_MOST = 70, LINE = 64 };

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
    free(will_be_named(block));
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

/* That thread never called before, and many blocks are free already: of those of 64 that follow
   each other, and of some behind them; but not that one, nor the one 64 before it. */
static void a_block_freed_twice_by_another_thread_after_others(void)
{
    enum { VICTIM = 67 };
    static void *blocks[FREED_MOST + 1];
    pthread_t thread;

    for (unsigned i = 0; i <= FREED_MOST; i++)
        blocks[i] = a_block();
    for (unsigned i = 0; i < FREED_MOST; i += 2)
        free(blocks[i]);
    for (unsigned i = 1; i < FREED_MOST; i += 4)
        free(blocks[i]);
    if (pthread_create(&thread, NULL, free_twice, blocks[VICTIM]) == 0)
        pthread_join(thread, NULL);
}

static void a_freed_block_reallocated_to_more(void)
{
    char *volatile block = a_block();

    free(block);
    free(realloc(will_be_named(block), size * 3));
}

static void a_freed_block_reallocated_to_nothing(void)
{
    char *volatile block = a_block();

    free(block);
    free(realloc(will_be_named(block), 0));
}

static void an_aligned_block_freed_twice(void)
{
    void *block = aligned_alloc(256, size);

    free(block);
    free_wrongly(block);
}

static void sixteen_bytes_into_an_aligned_block(void)
{
    free_wrongly((char *)aligned_alloc(256, size) + 16);
}

static void two_lines_into_an_aligned_block(void)
{
    /* As far as the least alignment that is more than a line. */
    free_wrongly((char *)aligned_alloc(1024, size) + 2 * LINE);
}

/* So many lines; where the aligned address lies inside a block, that one begins at one of them. */
static unsigned lines_before;

static void lines_before_an_aligned_block(void)
{
    char *block = NULL;

    /* Not the first of its kind: what lies before that may be anything. */
    for (int i = 0; i < 8; i++)
        block = aligned_alloc(1024, size);
    free_wrongly(block - lines_before * LINE);
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
    size_t usable = malloc_usable_size(block);

    /* A block of one line has none, nor has a packed one of less: its neighbour is another block.
     */
    free_wrongly(block + (usable > LINE ? LINE : usable / 2));
}

static void realloc_of_the_inside_of_a_block(void)
{
    char *volatile inside = (char *)a_block() + 16;

    free(realloc(will_be_named(inside), size + 1));
}

static void the_usable_size_of_the_inside_of_a_block(void)
{
    char *volatile inside = (char *)a_block() + 16;

    if (malloc_usable_size(will_be_named(inside)) > 0)
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

    free(realloc(will_be_named(foreign), 500));
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
static const struct misuse before_aligned = CASE(lines_before_an_aligned_block);
static const struct misuse cases[] = {
    DOUBLE_FREE(a_block_freed_twice_at_once),
    DOUBLE_FREE(a_block_freed_twice_at_once_after_others),
    DOUBLE_FREE(a_zeroed_block_freed_twice),
    DOUBLE_FREE(a_block_freed_twice_by_another_thread),
    DOUBLE_FREE(a_block_freed_twice_by_another_thread_after_others),
    DOUBLE_FREE(a_freed_block_reallocated_to_more),
    DOUBLE_FREE(a_freed_block_reallocated_to_nothing),
    DOUBLE_FREE(an_aligned_block_freed_twice),
    CASE(sixteen_bytes_into_an_aligned_block),
    CASE(two_lines_into_an_aligned_block),
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

static bool warm;

static void misuse(const void *argument)
{
    const struct misuse *it = argument;

    if (it->on_one_cpu)
        stay_on_this_cpu();
    if (warm)
        warm_up();
    it->run();
}

static bool is_noticed(const struct misuse *it)
{
    struct ending ending;

    run_in_a_child(misuse, it, &ending);
    if (was_noticed(&ending))
        return true;
    dprintf(STDERR_FILENO, "%zu bytes, %s, %u freed and %u lines before: ", size,
            warm ? "in heavy use" : "hardly used", freed_before, lines_before);
    tell(&ending, it->name);
    return false;
}

int main(void)
{
    static const size_t sizes[] = {24, 60, 130, 1000, 4000, 15000, 40000, 100000, 3 << 20};
    int failures = 0;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size = sizes[s];
        for (int round = 0; round < (size < 50000 ? 2 : 1); round++) {
            warm = round > 0;
            freed_before = 0;
            for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
                failures += !is_noticed(&cases[c]);
            for (lines_before = 1; size < 50000 && lines_before < 16; lines_before++)
                failures += !is_noticed(&before_aligned);
            for (; size < 50000 && freed_before < FREED_MOST; freed_before++)
                failures += !is_noticed(&after_others);
        }
    }
    return failures > 0;
}
