/*
 * SPDX-License-Identifier: MIT
 *
 * The kernel refuses while several threads are at work. See refusals.c for one thread, whose
 * requests come in the same order each time; here the n-th request of all threads together is
 * refused, whosever it is, or all from the n-th on, and n is drawn.
 *
 *   refusals_threads one|rest SEED DRAWS     DRAWS 0: each n in turn
 *
 * Promised: a call fails only if its own thread was refused something meanwhile; blocks hold what
 * was written to them; once nothing is refused no call fails, and memory that is free is the
 * kernel's again.
 */
#include "base/random.h"
#include "refusals_kernel.h"
#include "storm_block.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 4,
    PLACES = 40,     /* for blocks, of a thread */
    SHARED = 32,     /* of all */
    CALLS = 250,     /* of a thread, while something is refused and again when nothing is */
    MAPPED = 600000, /* bytes, or more: a mapping */
    ERRNO_BEFORE = 12345,
    CHILD_SECONDS = 120,
};

static _Atomic(struct storm_block *) shared[SHARED];

struct worker {
    pthread_t thread;
    uint64_t random;
    struct storm_block *blocks[PLACES];
    unsigned long failures;
};

static struct worker workers[THREADS];
static pthread_barrier_t barrier;

static bool was_given(const void *block, unsigned long refused)
{
    if (block != NULL) {
        if (errno != ERRNO_BEFORE)
            storm_fail(block, "a success changed errno");
        return true;
    }
    if (errno != ENOMEM)
        storm_fail(block, "a failure without ENOMEM");
    if (refusals_here() == refused)
        storm_fail(block, "failed though its thread was refused nothing");
    return false;
}

static size_t draw_size(uint64_t *random)
{
    uint32_t kind = random_below(random, 100);
    uint32_t most = kind < 65 ? 3000 : kind < 90 ? 40000 : kind < 96 ? 400000 : 2500000;

    return STORM_BLOCK_LEAST + random_below(random, most);
}

static void check_zero(const unsigned char *bytes, size_t size)
{
    if (bytes[0] != 0 || memcmp(bytes, bytes + 1, size - 1) != 0)
        storm_fail(bytes, "calloc's block is not zero");
}

static struct storm_block *get(struct worker *self)
{
    size_t size = draw_size(&self->random), alignment = 16;
    uint32_t way = random_below(&self->random, 8);
    unsigned long refused = refusals_here();
    void *block;

    errno = ERRNO_BEFORE;
    if (way == 0) {
        alignment = (size_t)64 << random_below(&self->random, 12);
        block = aligned_alloc(alignment, size);
    } else {
        block = way < 3 ? calloc(1, size) : malloc(size);
    }
    if (!was_given(block, refused)) {
        self->failures++;
        return NULL;
    }
    if (way == 1 || way == 2)
        check_zero(block, size);
    return storm_block_make(block, size, alignment);
}

/* Afterwards the block is whole, where it was or elsewhere, whether or not it could be resized. */
static struct storm_block *resize(struct worker *self, struct storm_block *block)
{
    struct storm_block head = *block;
    /* One that has a mapping of its own gets a longer one: the kernel is asked to move it. */
    size_t size = storm_block_size(block) > MAPPED
                      ? storm_block_size(block) + random_below(&self->random, 2 * MAPPED)
                      : draw_size(&self->random);
    unsigned long refused = refusals_here();
    void *moved;

    storm_block_leave(block);
    errno = ERRNO_BEFORE;
    moved = realloc(block, size);
    if (!was_given(moved, refused)) {
        self->failures++;
        storm_crumb_arrives(block);
        storm_block_check(block);
        return block;
    }
    storm_block_check_moved(moved, head, size);
    return storm_block_make(moved, size, 16);
}

static void give_back(struct storm_block *block)
{
    if (block == NULL)
        return;
    storm_block_leave(block);
    errno = ERRNO_BEFORE;
    free(block);
    if (errno != ERRNO_BEFORE)
        storm_fail(block, "free changed errno");
}

static void call(struct worker *self)
{
    struct storm_block **place = &self->blocks[random_below(&self->random, PLACES)];
    uint32_t what = random_below(&self->random, 64);

    if (what == 0) {
        malloc_trim(0);
    } else if (what < 16) {
        /* Sequentially consistent: a block is written by one thread and freed by another. */
        *place = atomic_exchange(&shared[random_below(&self->random, SHARED)], *place);
    } else if (*place == NULL) {
        *place = get(self);
    } else if (what < 32) {
        *place = resize(self, *place);
    } else {
        give_back(*place);
        *place = NULL;
    }
}

static void *work(void *argument)
{
    struct worker *self = argument;

    for (int phase = 0; phase < 2; phase++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < CALLS; i++)
            call(self);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void check_all(void)
{
    for (int i = 0; i < SHARED; i++)
        if (shared[i] != NULL)
            storm_block_check(shared[i]);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < PLACES; i++)
            if (workers[t].blocks[i] != NULL)
                storm_block_check(workers[t].blocks[i]);
}

static void give_all_back(void)
{
    for (int i = 0; i < SHARED; i++)
        give_back(atomic_exchange(&shared[i], NULL));
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < PLACES; i++) {
            give_back(workers[t].blocks[i]);
            workers[t].blocks[i] = NULL;
        }
}

static void start_workers(void *(*body)(void *))
{
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int t = 0; t < THREADS; t++) {
        workers[t].random = storm_seed * THREADS + (uint64_t)t;
        if (pthread_create(&workers[t].thread, NULL, body, &workers[t]) != 0) {
            dprintf(STDERR_FILENO, "refusals_threads: cannot start threads\n");
            _exit(2);
        }
    }
}

static void join_workers(void)
{
    for (int t = 0; t < THREADS; t++)
        pthread_join(workers[t].thread, NULL);
}

/* A block that wants a mapping of its own, and one that the kernel must have given. */
static void expect_much_memory(void)
{
    enum { BYTES = 256 << 20 };
    char *block = malloc(BYTES);

    if (block == NULL)
        storm_fail(NULL, "256 MiB are not to be had when nothing is refused");
    block[0] = block[BYTES / 2] = block[BYTES - 1] = 1;
    free(block);
}

static _Noreturn void be_refused(unsigned long from, unsigned long width)
{
    /* What stays with a process that has freed all: the allocator's own tables, and what waits for
       the next malloc. Tables of a pool grow with it. */
    enum { STAYS_MOST = 16 << 20, TABLES_SHARE = 64 };
    bool alone = width == 1;
    unsigned long failures = 0;

    alarm(CHILD_SECONDS);
    start_workers(work); /* which libc cannot always do without memory */
    refusals_plan(from, width);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    plan->from = 0;
    check_all();
    pthread_barrier_wait(&barrier); /* nothing is refused from here on */
    pthread_barrier_wait(&barrier);
    join_workers();
    check_all();
    for (int t = 0; t < THREADS; t++)
        failures += workers[t].failures;
    if (alone && failures > plan->refused)
        storm_fail(NULL, "more calls failed than were refused something");
    expect_much_memory();
    size_t most = STAYS_MOST + mallinfo2().arena / TABLES_SHARE;
    give_all_back();
    malloc_trim(0);
    size_t stays = refusals_resident();
    /* Where the kernel takes back neither by munmap nor by madvise, it keeps what it has. glibc
       keeps more where threads of several arenas were preempted. */
    if (alone && stays > most && refusals_are_promised()) {
        dprintf(STDERR_FILENO, "refusals_threads: %zu bytes stay\n", stays);
        _exit(1);
    }
    _exit(0);
}

static void run_child(unsigned long from, unsigned long width)
{
    int status;
    pid_t child;

    child = fork();
    if (child == 0)
        be_refused(from, width);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        dprintf(STDERR_FILENO, "refusals_threads: cannot run a child\n");
        exit(2);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        dprintf(STDERR_FILENO, "refusals_threads: seed %lu, refused %lu to %lu: status %#x\n",
                (unsigned long)storm_seed, (unsigned long)plan->from, (unsigned long)plan->to,
                status);
        exit(1);
    }
}

/* draws == 0: each in turn. The first ones are what a process asks for once: each of them, always.
 */
static void refuse(unsigned long width, unsigned long draws)
{
    enum { FIRST = 16 };
    uint64_t random = storm_seed;
    unsigned long most, refused = 0, runs = 0;

    run_child((unsigned long)-1, 1); /* only counts */
    most = plan->made;
    if (!refusals_are_promised()) {
        dprintf(STDOUT_FILENO, "libc's allocator is refused nothing\n");
        return;
    }
    if (most < 100) {
        dprintf(STDERR_FILENO, "refusals_threads: the allocator's requests do not come by here\n");
        exit(1);
    }
    for (unsigned long n = 1; draws == 0 ? n <= most : n <= FIRST + draws; n++, runs++) {
        unsigned long from = n;

        if (draws != 0 && n > FIRST)
            from = FIRST + 1 + random_below(&random, (uint32_t)(most - FIRST));
        run_child(from, width);
        refused += plan->refused;
    }
    dprintf(STDOUT_FILENO, "seed %lu: in %lu runs of some %lu requests %lu were refused\n",
            (unsigned long)storm_seed, runs, most, refused);
    if (refused < runs / 2) {
        dprintf(STDERR_FILENO, "refusals_threads: too few were refused\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc >= 2 ? argv[1] : "";
    bool one = strcmp(what, "one") == 0;

    refusals_open();
    if (argc == 4 && (one || strcmp(what, "rest") == 0)) {
        storm_seed = strtoul(argv[2], NULL, 10);
        storm_shadow_open();
        refuse(one ? 1 : 0, strtoul(argv[3], NULL, 10));
        return 0;
    }
    fputs("usage: refusals_threads one|rest SEED DRAWS\n", stderr);
    return 2;
}
