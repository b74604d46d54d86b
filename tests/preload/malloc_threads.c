/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks belong to the process, not to the thread or the CPU that allocated them. Every block
 * carries a pattern that its tag determines, and whoever frees it checks it first.
 *
 *   malloc_threads [SEED]      the seed is printed; without one it is 1
 */
#include "expect.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>

enum { THREADS = 4 };

static uint64_t seed_of_run = 1;

struct block {
    size_t size;
    uint64_t tag;
    unsigned char bytes[];
};

static struct block *make_block(uint64_t *random, unsigned greatest_shift)
{
    size_t size = next_random(random) % ((size_t)1 << (1 + next_random(random) % greatest_shift));
    uint64_t tag = next_random(random);
    struct block *block;

    switch (next_random(random) % 8) {
    case 0:
        block = calloc(1, sizeof *block + size);
        EXPECT(block != NULL && is_zero(block, sizeof *block + size));
        break;
    case 1: {
        size_t alignment = (size_t)16 << next_random(random) % 9;
        block = memalign(alignment, sizeof *block + size);
        EXPECT(is_aligned(block, alignment));
        break;
    }
    default:
        block = malloc(sizeof *block + size);
        break;
    }
    EXPECT(block != NULL && is_aligned(block, 16));
    block->size = size;
    block->tag = tag;
    fill_pattern(block->bytes, 0, size, tag);
    return block;
}

static void check_block(const struct block *block)
{
    EXPECT(malloc_usable_size((void *)(uintptr_t)block) >= sizeof *block + block->size);
    EXPECT(holds_pattern(block->bytes, 0, block->size, block->tag));
}

static struct block *resize_block(struct block *block, uint64_t *random)
{
    size_t size = next_random(random) % (2 * block->size + 100);
    size_t kept = size < block->size ? size : block->size;

    block = realloc(block, sizeof *block + size);
    EXPECT(block != NULL && holds_pattern(block->bytes, 0, kept, block->tag));
    fill_pattern(block->bytes, kept, size, block->tag);
    block->size = size;
    return block;
}

/* A table of blocks that all threads take from and put into: most frees are of others' blocks. */
enum { SLOTS = 512 };
static _Atomic(struct block *) slots[SLOTS];

static void *churn(void *argument)
{
    uint64_t random = seed_of_run * 1000 + (uintptr_t)argument;

    for (int step = 0; step < 60000; step++) {
        struct block *mine = make_block(&random, step % 64 == 0 ? 17 : 10);
        if (step % 5 == 0)
            mine = resize_block(mine, &random);
        /* acq_rel: the block's contents go with its address from the one thread to the other. */
        struct block *taken = atomic_exchange_explicit(&slots[next_random(&random) % SLOTS], mine,
                                                       memory_order_acq_rel);
        if (taken != NULL) {
            check_block(taken);
            free(taken);
        }
    }
    return NULL;
}

static void empty_slots(void)
{
    for (int i = 0; i < SLOTS; i++) {
        struct block *block = atomic_exchange(&slots[i], NULL);
        if (block != NULL) {
            check_block(block);
            free(block);
        }
    }
}

static void run_threads(int count, void *(*body)(void *))
{
    pthread_t threads[32];

    for (int i = 0; i < count; i++)
        EXPECT(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)(i + 1)) == 0);
    for (int i = 0; i < count; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void random_churn_in_one_thread_keeps_every_byte(void)
{
    churn((void *)99);
    empty_slots();
}

static void random_churn_across_threads_keeps_every_byte(void)
{
    run_threads(THREADS, churn);
    empty_slots();
}

/* One way only: all that is freed is freed far from where it was allocated. */
enum { QUEUE = 256, PASSED = 100000 };
static _Atomic(struct block *) queue[QUEUE];

static void *produce(void *argument)
{
    uint64_t random = seed_of_run * 77 + (uintptr_t)argument;

    for (size_t i = 0; i < PASSED; i++) {
        struct block *block = make_block(&random, 9), *empty = NULL;
        while (!atomic_compare_exchange_weak_explicit(&queue[i % QUEUE], &empty, block,
                                                      memory_order_release, memory_order_relaxed)) {
            empty = NULL;
            sched_yield();
        }
    }
    return NULL;
}

static void *consume(void *argument)
{
    (void)argument;
    for (size_t i = 0; i < PASSED; i++) {
        struct block *block;
        while ((block = atomic_exchange_explicit(&queue[i % QUEUE], NULL, memory_order_acquire)) ==
               NULL)
            sched_yield();
        check_block(block);
        free(block);
    }
    return NULL;
}

/* 200 MB or so pass through; what is freed elsewhere must come back into use. */
static void a_producer_reuses_what_its_consumer_freed(void)
{
    pthread_t producer, consumer;
    struct mallinfo2 before = mallinfo2();

    EXPECT(pthread_create(&producer, NULL, produce, NULL) == 0);
    EXPECT(pthread_create(&consumer, NULL, consume, NULL) == 0);
    EXPECT(pthread_join(producer, NULL) == 0);
    EXPECT(pthread_join(consumer, NULL) == 0);
    struct mallinfo2 after = mallinfo2();
    EXPECT(after.arena + after.hblkhd < before.arena + before.hblkhd + ((size_t)64 << 20));
}

static void *leave_blocks(void *argument)
{
    uint64_t random = seed_of_run + (uintptr_t)argument;

    for (int i = 0; i < 8; i++) {
        struct block *old =
            atomic_exchange(&slots[next_random(&random) % SLOTS], make_block(&random, 12));
        if (old != NULL) {
            check_block(old);
            free(old);
        }
    }
    return NULL;
}

static void blocks_outlive_their_threads_and_are_freed_by_others(void)
{
    for (int round = 0; round < 60; round++)
        run_threads(8, leave_blocks);
    empty_slots();
}

/* More threads than CPUs, over all the CPUs there are: a block may be freed on any of them. */
static void many_more_threads_than_cpus_share_the_allocator(void)
{
    for (int round = 0; round < 5; round++)
        run_threads(32, leave_blocks);
    empty_slots();
}

/* The handler's thread is never inside malloc, the others always are. */
enum { SIGNALS = 200 };
static atomic_int handled;
static uint64_t handler_random = 5;

static void allocate_in_handler(int signal_number)
{
    (void)signal_number;
    struct block *old = atomic_exchange(&slots[next_random(&handler_random) % SLOTS],
                                        make_block(&handler_random, 12));
    if (old != NULL) {
        check_block(old);
        free(old);
    }
    handled++;
}

static void *churn_until_handled(void *argument)
{
    while (handled < SIGNALS)
        leave_blocks(argument);
    return NULL;
}

static void a_handler_may_allocate_while_other_threads_do(void)
{
    struct sigaction action = {.sa_handler = allocate_in_handler};
    struct itimerval period = {{0, 500}, {0, 500}}, none = {{0, 0}, {0, 0}};
    pthread_t threads[THREADS];
    sigset_t alarm_only, before;

    /* Blocked here and, by inheritance, in the threads; open only while this thread sleeps. */
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    EXPECT(pthread_sigmask(SIG_BLOCK, &alarm_only, &before) == 0);
    EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, churn_until_handled, (void *)(uintptr_t)i) == 0);
    EXPECT(setitimer(ITIMER_REAL, &period, NULL) == 0);
    while (handled < SIGNALS)
        sigsuspend(&before);
    EXPECT(setitimer(ITIMER_REAL, &none, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    signal(SIGALRM, SIG_IGN); /* drops one that is pending */
    EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    empty_slots();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed_of_run = strtoull(argv[1], NULL, 10);
    printf("seed %llu\n", (unsigned long long)seed_of_run);
    fflush(stdout);
    random_churn_in_one_thread_keeps_every_byte();
    random_churn_across_threads_keeps_every_byte();
    a_producer_reuses_what_its_consumer_freed();
    blocks_outlive_their_threads_and_are_freed_by_others();
    many_more_threads_than_cpus_share_the_allocator();
    a_handler_may_allocate_while_other_threads_do();
    return 0;
}
