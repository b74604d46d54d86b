/*
 * SPDX-License-Identifier: MIT
 *
 * Memory that a transaction has for itself, which its function reads and writes without barriers
 * while functions that it calls use barriers: blocks that it allocates and stacks. One claim each:
 * tm_private_memory CLAIM. Built with all that gcc finds out about which functions keep a pointer.
 */
#include "expect.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SAFE __attribute__((transaction_safe))

enum { BLOCKS = 300 };

SAFE __attribute__((noinline)) static void add(int *to, int value)
{
    *to += value;
}

/* gcc knows that add keeps no pointer to the block; free would be one that does. */
static void what_functions_do_to_a_new_block_is_seen_at_once(void)
{
    int first = 0, second = 0;

    __transaction_atomic
    {
        int *block = malloc(8);

        *block = 1;
        add(block, 2);
        first = *block;
        *block = first + 1;
        add(block, 10);
        second = *block;
    }
    EXPECT(first == 3 && second == 14);
}

static void what_functions_do_to_a_zeroed_block_is_seen_at_once(void)
{
    int got = 0;

    __transaction_atomic
    {
        int *block = calloc(3, sizeof *block);

        add(&block[2], 7);
        got = block[2];
        block[2] = 1;
        add(&block[2], got);
        got = block[0] + block[2];
    }
    EXPECT(got == 8);
}

/* Of sizes from 16 bytes to 64 KiB. */
static size_t size_of(unsigned at)
{
    return (size_t)16 << at % 13;
}

SAFE __attribute__((noinline)) static void set_ends(char *block, size_t size, char value)
{
    block[0] = value;
    block[size - 1] = value;
}

/* Blocks of the transaction lie around one that is not. */
static void a_block_between_new_ones_is_left_alone_until_the_commit(void)
{
    char *spare[BLOCKS], *shared[BLOCKS];
    unsigned wrong = 0;

    for (unsigned i = 0; i < BLOCKS; i++) {
        spare[i] = malloc(size_of(i));
        shared[i] = calloc(1, 64);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(spare[i]);
    for (int cancel = 0; cancel < 2; cancel++) {
        __transaction_atomic
        {
            for (unsigned i = 0; i < BLOCKS; i++) {
                char *block = malloc(size_of(i));

                set_ends(block, size_of(i), (char)i);
                if (block[0] != (char)i || block[size_of(i) - 1] != (char)i)
                    wrong++;
                set_ends(shared[i], 64, 5);
            }
            if (cancel == 0)
                __transaction_cancel;
        }
        for (unsigned i = 0; i < BLOCKS; i++)
            EXPECT(shared[i][0] == 5 * cancel && shared[i][63] == 5 * cancel);
    }
    EXPECT(wrong == 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        free(shared[i]);
}

struct item {
    struct item *next;
    long values[8];
};
static struct item *list;

SAFE __attribute__((noipa)) static void fill(long *values, int count, long value)
{
    for (int i = 0; i < count; i++)
        values[i] = value;
}

SAFE __attribute__((noipa)) static long sum(const long *values, int count)
{
    long total = 0;

    for (int i = 0; i < count; i++)
        total += values[i];
    return total;
}

/* The nested transaction's roll-back takes back what it did to the block of the outer one. */
static void a_nested_roll_back_takes_back_what_it_did_to_a_new_block(void)
{
    long before = 0, after = 0;

    __transaction_atomic
    {
        struct item *item = malloc(sizeof *item);

        item->next = list;
        list = item;
        fill(item->values, 8, 1);
        before = sum(list->values, 8);
        __transaction_atomic
        {
            fill(list->values, 8, 2);
            fill(list->values, 4, 3);
            if (list->values[5] == 2)
                __transaction_cancel;
        }
        after = sum(list->values, 8);
        fill(list->values, 2, 4);
    }
    EXPECT(before == 8 && after == 8 && sum(list->values, 8) == 14);
    free(list);
    list = NULL;
}

/* ---- stacks ---- */

static ucontext_t caller, coroutine;
static void *stack;
static long result;

SAFE __attribute__((noipa)) static long one_frame(long value)
{
    long values[64];

    fill(values, 64, value);
    return sum(values, 64);
}

static void run(void)
{
    long local = 1, got = 0;

    __transaction_atomic
    {
        local = 5;
        got = one_frame(1) + one_frame(2);
        fill(&local, 1, local + 2);
        got += local;
        result = got;
    }
    EXPECT(got == result);
}

static void *run_on_a_stack(void *nothing)
{
    __transaction_atomic
    {
        result = 0;
    }
    EXPECT(getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = 1 << 20;
    coroutine.uc_link = &caller;
    makecontext(&coroutine, run, 0);
    EXPECT(swapcontext(&caller, &coroutine) == 0);
    return nothing;
}

/* Mapped before the thread, so above its stack, or on the heap, so below. */
static void a_transaction_may_run_on_a_stack_of_the_program(void)
{
    void *mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *allocated = malloc(1 << 20);
    pthread_t thread;

    EXPECT(mapped != MAP_FAILED && allocated != NULL);
    for (int i = 0; i < 2; i++) {
        stack = i == 0 ? mapped : allocated;
        pthread_create(&thread, NULL, run_on_a_stack, NULL);
        pthread_join(thread, NULL);
        EXPECT(result == 64 + 128 + 7);
        run_on_a_stack(NULL);
        EXPECT(result == 64 + 128 + 7);
    }
    free(allocated);
}

/* ---- a thread's own stack, far down ---- */

enum { LONGS = 400000, DEEP = 12 << 20, DEEP_STACK = 64 << 20 };

struct large {
    long at[LONGS];
};

static long added = 8;

/* The caller's local by barriers, though its function has none for it. */
SAFE __attribute__((noinline)) static struct large make(long value)
{
    struct large made;

    made.at[LONGS - 1] = value + added;
    added++;
    return made;
}

__attribute__((noinline)) static long make_inside(long value)
{
    long seen;

    __transaction_atomic
    {
        struct large local = make(value);

        seen = local.at[LONGS - 1];
    }
    return seen;
}

static void *far_down_its_stack(void *nothing)
{
    volatile char above[DEEP];

    above[0] = 1;
    EXPECT(make_inside(above[0]) == 9);
    return nothing;
}

static void a_frame_far_down_a_threads_own_stack_is_written_in_place(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, DEEP_STACK) == 0);
    EXPECT(pthread_create(&thread, &attributes, far_down_its_stack, NULL) == 0);
    pthread_join(thread, NULL);
}

static const struct claim claims[] = {
    CLAIM(a_frame_far_down_a_threads_own_stack_is_written_in_place),
    CLAIM(what_functions_do_to_a_new_block_is_seen_at_once),
    CLAIM(what_functions_do_to_a_zeroed_block_is_seen_at_once),
    CLAIM(a_block_between_new_ones_is_left_alone_until_the_commit),
    CLAIM(a_nested_roll_back_takes_back_what_it_did_to_a_new_block),
    CLAIM(a_transaction_may_run_on_a_stack_of_the_program),
};

int main(int argc, char **argv)
{
    return run_claim(argc, argv, claims, sizeof claims / sizeof *claims);
}
