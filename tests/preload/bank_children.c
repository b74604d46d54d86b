/*
 * SPDX-License-Identifier: MIT
 *
 * What libbank_malloc promises the child of a fork. bank.cmake has the settings.
 *
 *   bank_children notified   blocks that other threads freed in the child are had again, though
 *                            blocks of their slabs waited to be collected when it was forked
 *   bank_children scattered  of a pool whose huge pages all have a block of the parent the child
 *                            gets what is free
 */
#include "expect.h"

#include "mplace_bank.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { BLOCKS = 80000, BLOCK_BYTES = 64 };

static void *blocks[BLOCKS];
static sem_t have_taken, may_end;

static void *take_all(void *argument)
{
    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BLOCK_BYTES)) != NULL);
    EXPECT(sem_post(&have_taken) == 0);
    EXPECT(sem_wait(&may_end) == 0);
    return argument;
}

/* Most of a pool of 8 MiB, by a thread that then waits. */
static pthread_t start_owner(void)
{
    pthread_t owner;

    EXPECT(pthread_create(&owner, NULL, take_all, NULL) == 0);
    EXPECT(sem_wait(&have_taken) == 0);
    return owner;
}

static void end_owner(pthread_t owner)
{
    EXPECT(sem_post(&may_end) == 0);
    EXPECT(pthread_join(owner, NULL) == 0);
}

static void free_every(int step, int first)
{
    for (int i = first; i < BLOCKS; i += step)
        free(blocks[i]);
}

/* The owner is told of each slab before the fork, and collects from none. */
static void what_other_threads_freed_is_had_again(void)
{
    int status;

    EXPECT(sem_init(&have_taken, 0, 0) == 0 && sem_init(&may_end, 0, 0) == 0);
    pthread_t owner = start_owner();
    free_every(2, 0);
    pid_t child = fork();
    if (child == 0) {
        free_every(2, 1);
        for (int round = 0; round < 3; round++) {
            owner = start_owner();
            free_every(1, 0);
            end_owner(owner);
        }
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    end_owner(owner);
}

/* A block in a hundred is left of a pool of 64 MiB. */
static void what_is_free_between_the_parents_blocks_is_had(void)
{
    enum { CHUNK = 8192, BYTES = CHUNK / 2, MOST = (64 << 20) / BYTES, LEFT = 100 };
    void (*figures)(struct bank_figures *, size_t);
    struct bank_figures now;
    int count = 0, status;

    *(void **)&figures = dlsym(RTLD_DEFAULT, "bank_figures");
    figures(&now, sizeof now);
    if (now.chunk_bytes != CHUNK) {
        puts("skipped: the kernel tells no frame numbers, or gives no huge pages");
        exit(EXIT_SKIPPED);
    }
    while (count < MOST && (blocks[count] = malloc(BYTES)) != NULL)
        count++;
    EXPECT(count > MOST / 8 * 7);
    for (int i = 0; i < count; i++) {
        if (i % LEFT != 0)
            free(blocks[i]);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < MOST / 2; i++)
            EXPECT(malloc(BYTES) != NULL);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } claims[] = {
        {"scattered", what_is_free_between_the_parents_blocks_is_had},
        {"notified", what_other_threads_freed_is_had_again},
    };

    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return 0;
        }
    }
    return 2;
}
