/*
 * SPDX-License-Identifier: MIT
 *
 * Memory that stays with threads. Run under libbank_malloc.so with a pool of some MiB, which is too
 * small if it does.
 *
 * asleep: a thread after the other allocates 16 MiB of blocks, another one frees them all, and the
 * thread sleeps. destructors: threads come and go, each of which allocates in a destructor of a key
 * as long as libc calls it. crossing: threads free each other's blocks, while one more asks all the
 * time for what nobody needs; each block keeps what its owner wrote. limit: a thread has all of the
 * pool, another one frees a block of it, which the first one then gets, while a third asks for what
 * nobody needs.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLEEPERS = 16, BLOCKS = 1 << 16, BLOCK_BYTES = 256, COMERS = 4000 };

static _Noreturn void fail(const char *what)
{
    printf("bank_asleep: %s (%s)\n", what, strerror(errno));
    exit(1);
}

static void *blocks[BLOCKS];
static sem_t is_done, may_end;

static void *allocate_and_sleep(void *unused)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        if (blocks[i] == NULL)
            fail("no memory, though all blocks before were freed");
    }
    sem_post(&is_done);
    while (sem_wait(&may_end) != 0)
        ;
    return unused;
}

static void asleep(void)
{
    pthread_t thread[SLEEPERS];

    sem_init(&is_done, 0, 0);
    sem_init(&may_end, 0, 0);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_create(&thread[i], NULL, allocate_and_sleep, NULL);
        while (sem_wait(&is_done) != 0)
            ;
        for (int block = 0; block < BLOCKS; block++)
            free(blocks[block]);
    }
    for (int i = 0; i < SLEEPERS; i++)
        sem_post(&may_end);
    for (int i = 0; i < SLEEPERS; i++)
        pthread_join(thread[i], NULL);
}

static pthread_key_t key;

static void allocate_to_the_end(void *value)
{
    pthread_setspecific(key, value);
    for (size_t bytes = 100; bytes < 2000; bytes += 100) {
        void *volatile block = malloc(bytes);

        if (block == NULL)
            fail("no memory for a thread that ends");
        free(block);
    }
}

static void *set_key(void *value)
{
    pthread_setspecific(key, value);
    return NULL;
}

static void destructors(void)
{
    pthread_key_create(&key, allocate_to_the_end);
    for (int i = 0; i < COMERS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, set_key, &key) != 0)
            fail("no thread");
        pthread_join(thread, NULL);
    }
}

/* Blocks on their way from a thread to another one. */
enum { CROSSERS = 3, PLACES = 512, ROUNDS = 3000 };
static _Atomic(uint64_t *) place[PLACES];
static atomic_bool is_over;

static void drop(uint64_t *block)
{
    if (block == NULL)
        return;
    for (size_t i = 1; i < block[0]; i++) {
        if (block[i] != (block[0] ^ (uintptr_t)block))
            fail("a block is another one's, too");
    }
    free(block);
}

static void *cross(void *seed)
{
    uint64_t random = (uintptr_t)seed;

    for (int i = 0; i < ROUNDS * PLACES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t words = 2 + (random >> 33) % (random >> 60 == 0 ? 250 : 14);
        uint64_t *block = malloc(words * sizeof *block);

        if (block == NULL)
            fail("no memory for some thousand short blocks");
        block[0] = words;
        for (size_t word = 1; word < words; word++)
            block[word] = words ^ (uintptr_t)block;
        drop(atomic_exchange(&place[(random >> 20) % PLACES], block));
    }
    return NULL;
}

static void *trim(void *unused)
{
    while (!is_over)
        (void)malloc_trim(0);
    return unused;
}

static void crossing(void)
{
    pthread_t thread[CROSSERS], trimmer;

    pthread_create(&trimmer, NULL, trim, NULL);
    for (uintptr_t i = 0; i < CROSSERS; i++)
        pthread_create(&thread[i], NULL, cross, (void *)(i + 1));
    for (int i = 0; i < CROSSERS; i++)
        pthread_join(thread[i], NULL);
    is_over = true;
    pthread_join(trimmer, NULL);
    for (int i = 0; i < PLACES; i++)
        drop(place[i]);
}

enum { LIMIT_BYTES = 64, LIMIT_BLOCKS_MOST = 1 << 17, LIMIT_ROUNDS = 2000 };
static _Atomic(void *) to_free;

static void *free_what_is_given(void *unused)
{
    while (!is_over) {
        void *block = to_free;

        if (block != NULL) {
            free(block);
            to_free = NULL;
        }
        sched_yield();
    }
    return unused;
}

static void limit(void)
{
    static void *all[LIMIT_BLOCKS_MOST];
    pthread_t freer, trimmer;
    size_t count = 0;

    pthread_create(&freer, NULL, free_what_is_given, NULL);
    while (count < LIMIT_BLOCKS_MOST && (all[count] = malloc(LIMIT_BYTES)) != NULL)
        count++;
    if (count == 0 || count == LIMIT_BLOCKS_MOST)
        fail("this is not the limit");
    pthread_create(&trimmer, NULL, trim, NULL);
    for (size_t round = 0; round < LIMIT_ROUNDS; round++) {
        size_t at = round * 7919 % count;

        to_free = all[at];
        while (to_free != NULL)
            sched_yield();
        all[at] = malloc(LIMIT_BYTES);
        if (all[at] == NULL)
            fail("no memory, though a block was freed");
    }
    is_over = true;
    pthread_join(freer, NULL);
    pthread_join(trimmer, NULL);
}

int main(int count, char **arguments)
{
    const char *what = count == 2 ? arguments[1] : "";

    if (strcmp(what, "asleep") == 0)
        asleep();
    else if (strcmp(what, "destructors") == 0)
        destructors();
    else if (strcmp(what, "crossing") == 0)
        crossing();
    else if (strcmp(what, "limit") == 0)
        limit();
    else
        return 2;
    return 0;
}
