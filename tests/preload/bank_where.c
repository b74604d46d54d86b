/*
 * SPDX-License-Identifier: MIT
 *
 * Where libbank_malloc's blocks are, by a judge of its own: this program reads pagemap itself and
 * computes controller and bank of each page of each block from the functions of bank_where.map,
 * which are written here once more.
 *
 *   bank_where threads near|cpu|thread|list ROUNDS
 *                                              8 threads on all CPUs, blocks of 1 B to 1 MiB that
 *                                              come and go: each is on its thread's banks
 *   bank_where full none|restricted|unrestricted|split
 *                                              one thread takes blocks until there is none: each is
 *                                              where the mode lets it be
 *   bank_where long BYTES                      one block of that length is on one bank
 *   bank_where follow 0|1                      a thread that moves gets other banks if it is to
 *   bank_where fork                            blocks of a child are on its banks, and in new pages
 *   bank_where parent                          new blocks of a parent are on their banks while its
 *                                              child lives
 *   bank_where moved                           bank_count_moved counts pages that another frame has
 *
 * The settings come from the environment; bank_where.cmake has them. Exit status 77: the kernel
 * tells this process no frame numbers.
 */
#include "expect.h"

#include "mplace_bank.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, CONTROLLERS = 2, BANKS = 8, THREADS = 8, HELD = 24 };

static int pagemap;
static unsigned long rounds;

static uint64_t physical(const void *address)
{
    uint64_t entry = 0;
    off_t at = (off_t)((uintptr_t)address / PAGE * 8);

    EXPECT(pread(pagemap, &entry, sizeof entry, at) == (ssize_t)sizeof entry);
    EXPECT(entry >> 63 == 1);
    return (entry & (((uint64_t)1 << 55) - 1)) * PAGE + (uintptr_t)address % PAGE;
}

static uint64_t bit(uint64_t value, unsigned number)
{
    return value >> number & 1;
}

/* The functions of bank_where.map. */
static uint32_t colour_of(uint64_t address)
{
    uint64_t bank = (bit(address, 13) ^ bit(address, 16)) |
                    (bit(address, 14) ^ bit(address, 17)) << 1 |
                    (bit(address, 15) ^ bit(address, 18)) << 2;

    return (uint32_t)(bit(address, 19) * BANKS + bank);
}

/* The colours that the pages of a block are on, as a mask. */
static uint32_t colours_of(const char *block, size_t bytes)
{
    uint32_t colours = 0;

    for (const char *at = block; at < block + bytes; at += PAGE - (uintptr_t)at % PAGE)
        colours |= 1u << colour_of(physical(at));
    return colours;
}

static uint32_t mask_of(uint32_t controller, uint32_t bank)
{
    return 1u << (controller * BANKS + bank);
}

static bool is_one(uint32_t colours)
{
    return colours != 0 && (colours & (colours - 1)) == 0;
}

static uint32_t controller_mask(uint32_t colours)
{
    return (colours & 0xff) != 0 ? 0xff : 0xff00;
}

/* The interface says the same as the pages do. */
static void expect_bank_of(const void *block)
{
    static int (*of)(const void *, uint32_t *, uint32_t *);
    uint32_t controller, bank;

    if (of == NULL)
        *(void **)&of = dlsym(RTLD_DEFAULT, "bank_of");
    EXPECT(of != NULL);
    EXPECT(of(block, &controller, &bank) == 0);
    EXPECT(controller * BANKS + bank == colour_of(physical(block)));
}

/* --- threads --- */

struct thread {
    pthread_t id;
    int number; /* from 0: the order in which they allocate for the first time */
    int cpu;
    uint32_t promised;
};

static struct thread threads[THREADS];
static pthread_barrier_t all_have_begun;
static sem_t has_begun;

static size_t random_size(uint64_t *seed)
{
    size_t greatest = (size_t)1 << next_random(seed) % 21;

    return 1 + next_random(seed) % greatest;
}

static void *allocate_and_look(void *argument)
{
    struct thread *self = argument;
    uint64_t seed = (uint64_t)self->number + 1;
    char *blocks[HELD] = {0};

    pthread_barrier_wait(&all_have_begun);
    for (unsigned long round = 0; round < rounds; round++) {
        char **block = &blocks[next_random(&seed) % HELD];
        size_t size = random_size(&seed);

        free(*block);
        *block = malloc(size);
        EXPECT(*block != NULL);
        memset(*block, self->number, size);
        EXPECT((colours_of(*block, size) & ~self->promised) == 0);
        expect_bank_of(*block);
    }
    for (int i = 0; i < HELD; i++)
        free(blocks[i]);
    return NULL;
}

static void run_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
}

/* Pins itself, allocates for the first time, and then waits until the others have. */
static void *begin(void *argument)
{
    struct thread *self = argument;

    run_on(self->cpu);
    free(malloc(1));
    EXPECT(sem_post(&has_begun) == 0);
    return allocate_and_look(self);
}

/* bank_where.cmake: 0:0-3;1:4,6;0:7 */
static uint32_t listed(int thread)
{
    static const uint32_t lists[] = {0x000f, 0x5000, 0x0080};

    return lists[thread % 3];
}

/* The main thread is number 0 of the process and began on CPU 0: see main. */
static uint32_t promise(const char *policy, int number, int cpu, uint32_t dealt[CONTROLLERS],
                        int cpus)
{
    if (strcmp(policy, "cpu") == 0)
        return 1u << cpu % (CONTROLLERS * BANKS);
    if (strcmp(policy, "thread") == 0)
        return 1u << (number + 1) % (CONTROLLERS * BANKS);
    if (strcmp(policy, "list") == 0)
        return listed(number + 1);
    uint32_t controller = (uint32_t)(cpu * CONTROLLERS / cpus);
    return mask_of(controller, dealt[controller]++ % BANKS);
}

static void check_threads(const char *policy)
{
    uint32_t dealt[CONTROLLERS] = {1, 0}; /* the main thread has one of the first */
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), usable[CPU_SETSIZE], count = 0;
    cpu_set_t all;

    free(malloc(1));                /* on CPU 0, before any other thread does */
    memset(&all, 0xff, sizeof all); /* main has pinned itself; the kernel takes those that exist */
    EXPECT(sched_setaffinity(0, sizeof all, &all) == 0);
    EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((unsigned)cpu, &all))
            usable[count++] = cpu;
    }
    EXPECT(sem_init(&has_begun, 0, 0) == 0);
    EXPECT(pthread_barrier_init(&all_have_begun, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++) {
        threads[i].number = i;
        threads[i].cpu = usable[i % count];
        threads[i].promised = promise(policy, i, threads[i].cpu, dealt, cpus);
        EXPECT(pthread_create(&threads[i].id, NULL, begin, &threads[i]) == 0);
        EXPECT(sem_wait(&has_begun) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i].id, NULL) == 0);
}

/* --- a pool that becomes full --- */

static void check_full(const char *mode)
{
    uint64_t seed = 1;
    uint32_t own = 0, seen = 0;
    size_t total = 0;

    for (;;) {
        size_t size = 5000 + next_random(&seed) % 60000;
        char *block = malloc(size);

        if (block == NULL)
            break;
        memset(block, 1, size);
        uint32_t colours = colours_of(block, size);
        if (own == 0)
            own = colours;
        seen |= colours;
        total += size;
        if (strcmp(mode, "none") == 0)
            EXPECT(colours == own);
        if (strcmp(mode, "restricted") == 0)
            EXPECT(is_one(colours) && (colours & ~controller_mask(own)) == 0);
        if (strcmp(mode, "unrestricted") == 0)
            EXPECT(is_one(colours));
    }
    EXPECT(errno == ENOMEM);
    EXPECT(is_one(own));
    if (strcmp(mode, "none") == 0)
        EXPECT(seen == own);
    if (strcmp(mode, "restricted") == 0)
        EXPECT(seen == controller_mask(own));
    if (strcmp(mode, "unrestricted") == 0 || strcmp(mode, "split") == 0)
        EXPECT(seen == 0xffff);
    EXPECT(total > 1 << 20);
}

static void check_long(size_t bytes)
{
    char *block = malloc(bytes);

    EXPECT(block != NULL);
    memset(block, 1, bytes);
    EXPECT(is_one(colours_of(block, bytes)));
    expect_bank_of(block + bytes - 1);
    free(block);
}

static void check_fork(void)
{
    char *inherited = malloc(100000);
    int status;
    pid_t child;

    EXPECT(inherited != NULL);
    memset(inherited, 1, 100000);
    child = fork();
    if (child == 0) {
        char *own;
        uint32_t controller, bank;
        int (*of)(const void *, uint32_t *, uint32_t *);

        close(pagemap);
        pagemap = open("/proc/self/pagemap", O_RDONLY);
        *(void **)&of = dlsym(RTLD_DEFAULT, "bank_of");
        EXPECT(of(inherited, &controller, &bank) == ENODATA);
        own = malloc(100000);
        EXPECT(own != NULL);
        memset(own, 2, 100000);
        EXPECT(is_one(colours_of(own, 100000)));
        expect_bank_of(own);
        free(inherited);
        free(own);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    free(inherited);
}

/* A child that has what its parent had when it was forked, until its end of the pipe is closed. */
static pid_t start_child(int *pipe_to_child)
{
    int to_child[2], from_child[2];
    char byte;

    EXPECT(pipe(to_child) == 0 && pipe(from_child) == 0);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        close(to_child[1]);
        _exit(write(from_child[1], "", 1) != 1 || read(to_child[0], &byte, 1) != 0);
    }
    EXPECT(read(from_child[0], &byte, 1) == 1);
    *pipe_to_child = to_child[1];
    return child;
}

static void end_child(pid_t child, int pipe_to_child)
{
    int status;

    close(pipe_to_child);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* Whether the block's pages are where bank_of says. */
static bool is_where_promised(const char *block, size_t bytes)
{
    static int (*of)(const void *, uint32_t *, uint32_t *);
    uint32_t controller, bank;

    if (of == NULL)
        *(void **)&of = dlsym(RTLD_DEFAULT, "bank_of");
    EXPECT(of(block, &controller, &bank) == 0);
    return colours_of(block, bytes) == mask_of(controller, bank);
}

enum { CHUNK_BYTES = 8000 };

/* Blocks from huge pages of which the child has a part may be elsewhere. */
static void check_parent(void)
{
    enum { BLOCKS = 2000 };
    int pipe_to_child, wrong = 0;

    EXPECT(malloc(100) != NULL);
    pid_t child = start_child(&pipe_to_child);
    for (int i = 0; i < BLOCKS; i++) {
        char *block = malloc(CHUNK_BYTES);

        EXPECT(block != NULL);
        memset(block, 1, CHUNK_BYTES);
        wrong += !is_where_promised(block, CHUNK_BYTES);
    }
    end_child(child, pipe_to_child);
    EXPECT(wrong < BLOCKS / 2);
}

/* The blocks, and few besides, are written to while a child has them: they get other frames. */
static void check_moved(void)
{
    enum { BLOCKS = 64, OTHERS_MOST = 16 };
    static char *blocks[BLOCKS];
    int64_t (*count_moved)(void);
    int pipe_to_child, moved = 0;

    *(void **)&count_moved = dlsym(RTLD_DEFAULT, "bank_count_moved");
    for (int i = 0; i < BLOCKS; i++) {
        EXPECT((blocks[i] = malloc(CHUNK_BYTES)) != NULL);
        memset(blocks[i], 1, CHUNK_BYTES);
    }
    EXPECT(count_moved() == 0);
    pid_t child = start_child(&pipe_to_child);
    for (int i = 0; i < BLOCKS; i++) {
        memset(blocks[i], 2, CHUNK_BYTES);
        moved += !is_where_promised(blocks[i], CHUNK_BYTES);
    }
    EXPECT(moved > 0);
    EXPECT(count_moved() >= moved && count_moved() <= moved + OTHERS_MOST);
    end_child(child, pipe_to_child);
}

/* With BANK_COLOURS=cpu: a thread that moved to CPU 1 gets that one's bank once it has moved for
   good, if it is to; what it has stays. */
static void check_follow(bool is_to)
{
    enum { BLOCKS = 40, BYTES = 20000 };
    static char *blocks[BLOCKS];
    cpu_set_t first_two;

    CPU_ZERO(&first_two);
    CPU_SET(0, &first_two);
    CPU_SET(1, &first_two);
    char *before = malloc(BYTES);
    EXPECT(before != NULL);
    memset(before, 1, BYTES);
    EXPECT(colours_of(before, BYTES) == 1);
    EXPECT(sched_setaffinity(0, sizeof first_two, &first_two) == 0);
    EXPECT(sched_getaffinity(0, sizeof first_two, &first_two) == 0);
    if (!CPU_ISSET(1, &first_two)) {
        puts("skipped: there is no CPU 1");
        exit(77);
    }
    run_on(1);
    for (int i = 0; i < BLOCKS; i++) {
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
        memset(blocks[i], 1, BYTES);
    }
    EXPECT(colours_of(before, BYTES) == 1);
    EXPECT(colours_of(blocks[0], BYTES) == 1); /* not at once */
    EXPECT(colours_of(blocks[BLOCKS - 1], BYTES) == (is_to ? 2 : 1));
}

/* The process begins again on CPU 0, so that the main thread's colours are those of it. */
static void begin_on_first_cpu(char **arguments)
{
    if (getenv("BANK_WHERE_BEGAN") != NULL)
        return;
    run_on(0);
    EXPECT(setenv("BANK_WHERE_BEGAN", "1", 1) == 0);
    execv("/proc/self/exe", arguments);
    EXPECT(false);
}

int main(int count, char **arguments)
{
    uint64_t entry = 0;

    EXPECT(count >= 2);
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0 || pread(pagemap, &entry, 8, (off_t)((uintptr_t)&entry / PAGE * 8)) != 8 ||
        (entry & (((uint64_t)1 << 55) - 1)) == 0) {
        puts("skipped: the kernel tells no frame numbers; run it as root");
        return 77;
    }
    if (strcmp(arguments[1], "threads") == 0) {
        EXPECT(count == 4);
        rounds = strtoul(arguments[3], NULL, 10);
        begin_on_first_cpu(arguments);
        check_threads(arguments[2]);
    } else if (strcmp(arguments[1], "full") == 0) {
        check_full(arguments[2]);
    } else if (strcmp(arguments[1], "long") == 0) {
        check_long(strtoull(arguments[2], NULL, 10));
    } else if (strcmp(arguments[1], "follow") == 0) {
        begin_on_first_cpu(arguments);
        check_follow(strcmp(arguments[2], "1") == 0);
    } else if (strcmp(arguments[1], "parent") == 0) {
        check_parent();
    } else if (strcmp(arguments[1], "moved") == 0) {
        check_moved();
    } else {
        check_fork();
    }
    return 0;
}
