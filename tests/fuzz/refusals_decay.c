/*
 * SPDX-License-Identifier: MIT
 *
 * The kernel refuses to take back what the allocator gives back by itself, as unused memory decays
 * (CIA_DECAY_MS): its madvise, its munmap, or both. Threads fill memory and end; nearly all of it
 * is freed; the one thread that is left makes small calls, so that the allocator looks at the
 * clock, until requests have been refused many times. Promised:
 *   - no call fails, no block loses a byte, and what calloc hands out is zero;
 *   - of memory that munmap cannot take back the pages go by madvise;
 *   - what madvise was refused for goes once it is refused no more.
 * Where both are refused, what was to be unmapped stays for good: nothing is said of its size.
 *
 *   refusals_decay madvise|munmap|both
 */
#include "refusals_kernel.h"
#include "storm_block.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 3,
    BLOCKS = 1000, /* of a thread */
    ERRNO_BEFORE = 12345,
    REFUSALS_ENOUGH = 8,
    DECAY_SECONDS = 150, /* how long memory may take to go: it is a matter of a second */
};

static struct storm_block *blocks[THREADS][BLOCKS];

/* Mostly runs of a sub-heap, some mappings, and small ones, which keep no page alone. */
static size_t size_of(int number)
{
    return number % 64 == 0 ? 1500000 : number % 4 == 0 ? 40000 : number % 2 == 0 ? 9000 : 500;
}

/* A few of each size, and all of the small ones of the last part. */
static bool stays(int number)
{
    return number % 2 == 0 ? number % 112 == 8 || number == 64 : number > BLOCKS - BLOCKS / 16;
}

static struct storm_block *get(size_t size, bool zeroed)
{
    void *block;

    errno = ERRNO_BEFORE;
    block = zeroed ? calloc(1, size) : malloc(size);
    if (block == NULL)
        storm_fail(NULL, "failed though no memory was refused");
    if (errno != ERRNO_BEFORE)
        storm_fail(block, "a success changed errno");
    if (zeroed && (*(char *)block != 0 || memcmp(block, (char *)block + 1, size - 1) != 0))
        storm_fail(block, "calloc's block is not zero");
    return storm_block_make(block, size, 16);
}

static void give_back(struct storm_block *block)
{
    storm_block_leave(block);
    errno = ERRNO_BEFORE;
    free(block);
    if (errno != ERRNO_BEFORE)
        storm_fail(block, "free changed errno");
}

static void *fill(void *argument)
{
    struct storm_block **mine = argument;

    for (int i = 0; i < BLOCKS; i++)
        if (mine[i] == NULL)
            mine[i] = get(size_of(i), i % 8 == 4);
    return NULL;
}

static void fill_by_threads(void)
{
    pthread_t threads[THREADS];

    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, fill, blocks[t]) != 0) {
            dprintf(STDERR_FILENO, "refusals_decay: cannot start threads\n");
            _exit(2);
        }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static void free_most(void)
{
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < BLOCKS; i++)
            if (!stays(i)) {
                give_back(blocks[t][i]);
                blocks[t][i] = NULL;
            }
}

static void check_all(void)
{
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < BLOCKS; i++)
            if (blocks[t][i] != NULL)
                storm_block_check(blocks[t][i]);
}

/* Some calls that go to a sub-heap, so that the time is looked at; and some of that passes. */
static void pass_time(void)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    struct storm_block *few[16];

    for (int i = 0; i < 16; i++)
        few[i] = get(40000, i % 2 == 0);
    for (int i = 0; i < 16; i++)
        give_back(few[i]);
    nanosleep(&pause, NULL);
}

static void expect_at_most(size_t most)
{
    for (time_t end = time(NULL) + DECAY_SECONDS; refusals_resident() > most;) {
        pass_time();
        if (time(NULL) > end) {
            dprintf(STDERR_FILENO, "refusals_decay: %zu bytes stay, wanted are at most %zu\n",
                    refusals_resident(), most);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    unsigned kinds = strcmp(what, "madvise") == 0  ? REFUSE_MADVISE
                     : strcmp(what, "munmap") == 0 ? REFUSE_MUNMAP
                     : strcmp(what, "both") == 0   ? REFUSE_MADVISE | REFUSE_MUNMAP
                                                   : 0;

    if (kinds == 0) {
        fputs("usage: refusals_decay madvise|munmap|both\n", stderr);
        return 2;
    }
    alarm(2 * DECAY_SECONDS);
    refusals_open();
    storm_shadow_open();
    plan->kinds = kinds;
    for (int round = 0; round < 2; round++) {
        fill_by_threads();
        size_t full = refusals_resident();
        refusals_plan(1, 0);
        free_most();
        while (plan->refused < REFUSALS_ENOUGH)
            pass_time();
        check_all();
        if (kinds == REFUSE_MUNMAP) /* madvise is at work meanwhile */
            expect_at_most(full / 2);
        plan->from = 0;
        if (kinds == REFUSE_MADVISE)
            expect_at_most(full / 2);
        check_all();
        dprintf(STDOUT_FILENO, "full: %zu KiB; %lu requests refused; then %zu KiB\n", full >> 10,
                (unsigned long)plan->refused, refusals_resident() >> 10);
    }
    return 0;
}
