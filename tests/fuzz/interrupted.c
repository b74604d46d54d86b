/*
 * SPDX-License-Identifier: MIT
 *
 * Interrupts each restartable sequence of the allocator at each of its instructions, with each of
 * the things that may happen there: calls of the same CPU by a signal handler, few and many of
 * them, malloc_trim, a fork whose child goes on with what it inherited, a move to another CPU. No
 * race has to be hit: a breakpoint stands at the instruction, and its SIGTRAP is the interruption.
 * The kernel sends the sequence back to its beginning; what it had done by then must not show.
 *
 *   interrupted [--seed N] <INSTRUCTIONS      where each instruction of the library begins, in hex
 *
 * Which of them are in sequences the program reads from the library's section __rseq_cs. Exit
 * status: 0; 1 if no sequence was interrupted; 77 if sequences are not used here; a broken promise
 * is one line on stderr and SIGABRT. One thread only: a breakpoint is in the code that all run.
 */
#include "storm_block.h"

#include "base/random.h"
#include "base/rseq.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rseq.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { TABLE = 6000, MINE = 300, PLACES_MOST = 4096, BREAKPOINT = 0xcc, PAGE = 4096 };

static uint64_t random_state;
static cpu_set_t allowed;

/* The program's blocks, and those of what interrupts it. */
static struct storm_block *table[TABLE], *mine[MINE];
static size_t usual_size;

/* By each of the functions that have the sequences in line. */
static void *allocate(size_t size)
{
    switch (random_below(&random_state, 16)) {
    case 0:
    case 1:
        return calloc(1, size);
    case 2:
        return realloc(NULL, size);
    case 3:
        return realloc(malloc(16), size);
    default:
        return malloc(size);
    }
}

static struct storm_block *get(void)
{
    size_t size =
        random_below(&random_state, 16) ? usual_size : 16 + random_below(&random_state, 2000);

    return storm_block_make(allocate(size), size, 16);
}

static void put(struct storm_block **place)
{
    struct storm_block *block = *place;

    *place = NULL;
    if (block != NULL) {
        storm_block_leave(block);
        if (random_below(&random_state, 16) != 0)
            free(block);
        else
            block = realloc(block, 0);
    }
}

static void replace_mine(int count)
{
    for (int i = 0; i < count; i++) {
        put(&mine[i]);
        mine[i] = get();
    }
}

static void a_few_calls(void)
{
    replace_mine(3);
}

static void many_calls(void)
{
    replace_mine(MINE);
}

static void many_mallocs_and_then_frees_backwards(void)
{
    for (int i = 0; i < MINE; i++)
        if (mine[i] == NULL)
            mine[i] = get();
    for (int i = MINE - 1; i >= 0; i--)
        if (random_below(&random_state, 3) != 0)
            put(&mine[i]);
}

static void a_trim(void)
{
    malloc_trim(0);
}

static void frees_and_a_trim(void)
{
    for (int i = 0; i < MINE; i++)
        put(&mine[i]);
    malloc_trim(0);
}

static void a_fork(void)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0) {
        for (int i = 0; i < TABLE; i++)
            if (table[i] != NULL)
                storm_block_check(table[i]);
        replace_mine(MINE);
        malloc_trim(0);
        replace_mine(MINE);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        storm_fail(NULL, "the child of a fork failed");
}

static void a_move_and_calls_there(void)
{
    cpu_set_t others = allowed;

    CPU_CLR(sched_getcpu(), &others);
    if (CPU_COUNT(&others) > 0)
        sched_setaffinity(0, sizeof others, &others);
    replace_mine(100);
}

static void (*const interruptions[])(void) = {
    a_few_calls,
    many_calls,
    many_mallocs_and_then_frees_backwards,
    a_trim,
    frees_and_a_trim,
    a_fork,
    a_move_and_calls_there,
};
enum { INTERRUPTIONS = sizeof interruptions / sizeof interruptions[0] };

static unsigned char *place, instruction;
static void (*interrupt)(void);
static volatile sig_atomic_t was_hit;

static void on_breakpoint(int signal_number, siginfo_t *information, void *context)
{
    greg_t *next = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    int saved = errno;

    (void)signal_number;
    (void)information;
    *place = instruction;
    was_hit = 1;
    if (*next == (greg_t)(uintptr_t)(place + 1)) /* the kernel did not send it back: no sequence */
        --*next;
    interrupt();
    errno = saved;
}

static void set_breakpoint(unsigned char *at)
{
    place = at;
    instruction = *at;
    was_hit = 0;
    *at = BREAKPOINT;
}

/* Runs of mallocs and of frees, until the breakpoint is hit or it has gone on for long. */
static void work(int rounds)
{
    while (rounds-- > 0 && !was_hit) {
        uint32_t first = random_below(&random_state, TABLE);
        uint32_t count = random_below(&random_state, random_below(&random_state, 4) ? 80 : 1600);
        uint32_t step = 1 + random_below(&random_state, 3);
        bool frees = random_below(&random_state, 2) != 0;

        for (uint32_t i = 0; i < count; i++) {
            struct storm_block **slot = &table[(first + i * step) % TABLE];

            if (frees)
                put(slot);
            else if (*slot == NULL)
                *slot = get();
        }
    }
}

/* The library's descriptors of sequences, as they are in memory, relocated. */
static const struct rseq_cs *sequences;
static size_t sequence_count;

static void find_sequences(const Dl_info *library)
{
    int file = open(library->dli_fname, O_RDONLY | O_CLOEXEC);
    const char *base = MAP_FAILED;
    off_t bytes = lseek(file, 0, SEEK_END);

    if (bytes > 0)
        base = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (base == MAP_FAILED) {
        fprintf(stderr, "interrupted: cannot read %s\n", library->dli_fname);
        exit(2);
    }
    const Elf64_Ehdr *header = (const void *)base;
    const Elf64_Shdr *sections = (const void *)(base + header->e_shoff);
    const char *names = base + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, "__rseq_cs") == 0) {
            sequences = (const void *)((const char *)library->dli_fbase + sections[i].sh_addr);
            sequence_count = sections[i].sh_size / sizeof *sequences;
        }
    }
    close(file);
}

/* The instruction behind the commit too: it is not sent back any more. */
static bool is_in_a_sequence(uintptr_t address)
{
    for (size_t i = 0; i < sequence_count; i++)
        if (address - sequences[i].start_ip <= sequences[i].post_commit_offset)
            return true;
    return false;
}

static void make_writable(unsigned char *at)
{
    uintptr_t page = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);

    if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        fputs("interrupted: the code cannot be made writable here: skipped\n", stderr);
        exit(77);
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO};
    static unsigned char *places[PLACES_MOST];
    static const size_t sizes[] = {16, 32, 64, 200, 1000, 3000, 9000};
    unsigned long offset, hits = 0;
    size_t place_count = 0;
    Dl_info library;
    void *symbol = dlsym(RTLD_DEFAULT, "mplace_malloc_name");

    if (argc == 3 && strcmp(argv[1], "--seed") == 0)
        storm_seed = strtoull(argv[2], NULL, 10);
    printf("seed %llu\n", (unsigned long long)storm_seed);
    fflush(stdout);
    random_state = storm_seed;
    if (symbol == NULL || dladdr(symbol, &library) == 0 ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        fputs("interrupted: wants a library of this project to be preloaded\n", stderr);
        return 2;
    }
    if (!rseq_is_registered()) {
        fputs("interrupted: no restartable sequences here: skipped\n", stderr);
        return 77;
    }
    find_sequences(&library);
    while (scanf("%lx", &offset) == 1) {
        unsigned char *at = (unsigned char *)library.dli_fbase + offset;

        if (place_count < PLACES_MOST && is_in_a_sequence((uintptr_t)at)) {
            make_writable(at);
            places[place_count++] = at;
        }
    }
    storm_shadow_open();
    sigaction(SIGTRAP, &action, NULL);
    for (size_t round = 0; round < INTERRUPTIONS * place_count; round++) {
        interrupt = interruptions[round / place_count];
        usual_size = sizes[random_below(&random_state, sizeof sizes / sizeof sizes[0])];
        was_hit = 0;
        work(1 + (int)random_below(&random_state, 3));
        set_breakpoint(places[round % place_count]);
        work(25);
        *place = instruction;
        hits += was_hit != 0;
        sched_setaffinity(0, sizeof allowed, &allowed);
        if (random_below(&random_state, 40) == 0)
            for (int i = 0; i < TABLE; i++)
                put(&table[i]);
    }
    for (int i = 0; i < TABLE; i++)
        put(&table[i]);
    printf("instructions %zu interruptions %lu\n", place_count, hits);
    /* Some are seldom come by; but not most. */
    return hits < INTERRUPTIONS * place_count / 2 || place_count == 0;
}
