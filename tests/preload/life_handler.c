/*
 * SPDX-License-Identifier: MIT
 *
 * A signal handler that allocates, at any instruction of the allocator: while the thread below it
 * holds a sub-heap's lock, or is about to take it, or has just given it up. What the handler wants
 * must come from elsewhere, for the thread below cannot go on before the handler returns; and what
 * the thread was at must be as it was when it does.
 *
 *   life_handler [SEED] <INSTRUCTIONS     where each instruction of the library begins, in hex
 *
 * Breakpoints stand at some hundred instructions at a time, and then at others, until each had its
 * turn; the first to be reached is the signal. The seed is printed; without one it is 1. One thread
 * only: breakpoints are in the code that all run. glibc promises nothing of this. Exit status: 77
 * if the code cannot be changed here.
 */
#include "expect.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

enum {
    KEPT = 2000,
    OF_HANDLER = 200,
    PLACES_MOST = 32768,
    AT_A_TIME = 128,
    TURNS = 1,
    SECONDS = 400,
    BREAKPOINT = 0xcc,
    PAGE = 4096,
};

struct block {
    unsigned char *bytes;
    size_t size;
};

static uint64_t random_state = 1;
static struct block kept[KEPT], of_handler[OF_HANDLER];
static size_t kept_count;

/* Lengths of all kinds: a few classes much more often, large blocks, mappings of their own. */
static size_t some_size(void)
{
    switch (next_random(&random_state) % 16) {
    case 0:
        return 70000 + next_random(&random_state) % 200000;
    case 1:
        return 600000 + next_random(&random_state) % 3000000;
    case 2:
    case 3:
        return 1 + next_random(&random_state) % 30000;
    default:
        return 1 + next_random(&random_state) % 600;
    }
}

/* Both ends say whose block it is; a block that two have is seen by the one or the other. */
static void take(struct block *block, unsigned char *bytes, size_t size)
{
    EXPECT(bytes != NULL);
    block->bytes = bytes;
    block->size = size;
    bytes[0] = bytes[size - 1] = (unsigned char)((uintptr_t)block >> 4);
}

static void give_back(struct block *block)
{
    unsigned char mark = (unsigned char)((uintptr_t)block >> 4);

    EXPECT(block->bytes[0] == mark && block->bytes[block->size - 1] == mark);
    free(block->bytes);
    block->bytes = NULL;
}

/* ---- what is interrupted ---- */

static void take_a_block(void)
{
    size_t size = some_size();

    if (kept_count < KEPT)
        take(&kept[kept_count++], malloc(size), size);
}

static void give_a_block_back(void)
{
    if (kept_count > 0) {
        size_t place = next_random(&random_state) % kept_count;
        struct block last = kept[--kept_count];

        if (place != kept_count) { /* the mark goes with the place */
            give_back(&kept[place]);
            take(&kept[place], last.bytes, last.size);
        } else {
            give_back(&kept[place]);
        }
    }
}

static void take_a_zeroed_block(void)
{
    size_t size = some_size();
    unsigned char *bytes = calloc(1, size);

    EXPECT(bytes != NULL && bytes[0] == 0 && bytes[size - 1] == 0);
    free(bytes);
}

static void take_an_aligned_block(void)
{
    size_t alignment = (size_t)128 << next_random(&random_state) % 6;
    void *bytes = memalign(alignment, 1 + next_random(&random_state) % 3000);

    EXPECT(bytes != NULL && is_aligned(bytes, alignment));
    free(bytes);
}

static void resize_a_block(void)
{
    unsigned char *bytes = malloc(100);

    EXPECT(bytes != NULL);
    bytes[99] = 5;
    bytes = realloc(bytes, 100 + some_size());
    EXPECT(bytes != NULL && bytes[99] == 5);
    free(bytes);
}

static void trim(void)
{
    malloc_trim(0);
}

/* ---- what interrupts ---- */

static void replace_blocks(int count)
{
    for (int i = 0; i < count; i++) {
        struct block *block = &of_handler[next_random(&random_state) % OF_HANDLER];
        size_t size = some_size();

        if (block->bytes != NULL)
            give_back(block);
        take(block, malloc(size), size);
    }
}

static void allocate_a_little(void)
{
    replace_blocks(2);
}

static void allocate_much(void)
{
    replace_blocks(40);
}

static void fork_and_allocate_in_the_child(void)
{
    pid_t child = fork();
    int status;

    EXPECT(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        replace_blocks(40);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0)
        EXPECT(errno == EINTR);
    EXPECT(status == 0);
}

/* ---- the breakpoints ---- */

static unsigned char *places[PLACES_MOST];
static unsigned char instructions[PLACES_MOST]; /* what was there before */
static bool reached[PLACES_MOST];
static size_t place_count, armed_from, armed_to;
static long interruptions;

static void arm(void)
{
    for (size_t i = armed_from; i < armed_to; i++)
        if (!reached[i])
            *places[i] = BREAKPOINT;
}

static void disarm(void)
{
    for (size_t i = armed_from; i < armed_to; i++)
        *places[i] = instructions[i];
}

static void on_breakpoint(int signal_number, siginfo_t *information, void *context)
{
    greg_t *next = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    int saved = errno;

    (void)signal_number;
    (void)information;
    disarm();
    for (size_t i = armed_from; i < armed_to; i++) {
        /* The kernel may have sent it back to the beginning of a restartable sequence. */
        if (*next == (greg_t)(uintptr_t)(places[i] + 1)) {
            reached[i] = true;
            --*next;
            break;
        }
    }
    switch (interruptions++ % 32) {
    case 0:
        fork_and_allocate_in_the_child();
        break;
    case 1:
        allocate_much();
        break;
    default:
        allocate_a_little();
    }
    arm();
    errno = saved;
}

/* Reads them, in whatever order, and makes them writable. */
static void find_places(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "mplace_malloc_name");
    Dl_info library;
    unsigned long offset;

    if (symbol == NULL || dladdr(symbol, &library) == 0) {
        fputs("life_handler: wants a library of this project to be preloaded\n", stderr);
        exit(2);
    }
    while (place_count < PLACES_MOST && scanf("%lx", &offset) == 1) {
        unsigned char *place = (unsigned char *)library.dli_fbase + offset;

        if (mprotect((void *)((uintptr_t)place & ~(uintptr_t)(PAGE - 1)), PAGE,
                     PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
            fputs("skipped: the code cannot be made writable here\n", stderr);
            exit(EXIT_SKIPPED);
        }
        places[place_count++] = place;
    }
}

static void shuffle_places(void)
{
    for (size_t i = place_count; i > 1; i--) {
        size_t other = next_random(&random_state) % i;
        unsigned char *place = places[i - 1];

        places[i - 1] = places[other];
        places[other] = place;
    }
    for (size_t i = 0; i < place_count; i++) {
        instructions[i] = *places[i];
        reached[i] = false;
    }
}

/* A little of everything, and enough of it that blocks are loaded, unloaded and sent home. */
static void work(void)
{
    static void (*const operations[])(void) = {
        take_a_zeroed_block,
        take_an_aligned_block,
        resize_a_block,
        trim,
    };
    uint64_t count = 1 + next_random(&random_state) % 400;
    bool gives_back = kept_count > KEPT / 2 || next_random(&random_state) % 2 == 0;

    for (uint64_t i = 0; i < count; i++)
        (gives_back ? give_a_block_back : take_a_block)();
    operations[next_random(&random_state) % (sizeof operations / sizeof *operations)]();
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO};

    if (count > 1)
        random_state = strtoull(arguments[1], NULL, 10);
    printf("seed %llu\n", (unsigned long long)random_state);
    fflush(stdout);
    alarm(SECONDS); /* a dead lock ends here */
    find_places();
    for (int i = 0; i < 1500; i++) /* magazines open after many uses of a class */
        free(malloc(100));
    EXPECT(sigaction(SIGTRAP, &action, NULL) == 0);
    for (int turn = 0; turn < TURNS; turn++) {
        shuffle_places();
        for (size_t from = 0; from < place_count; from += AT_A_TIME) {
            armed_from = from;
            armed_to = from + AT_A_TIME < place_count ? from + AT_A_TIME : place_count;
            arm();
            for (int i = 0; i < 4; i++)
                work();
            disarm();
        }
    }
    while (kept_count > 0)
        give_a_block_back();
    printf("instructions %zu, interruptions %ld\n", place_count, interruptions);
    EXPECT(interruptions > 1000);
    return 0;
}
