/*
 * SPDX-License-Identifier: MIT
 *
 * Where blocks of the preloaded libcia_malloc.so lie, asked of the kernel page by page, on a
 * machine that has more than one memory node. usage: cia_memory_nodes CLAIM
 *
 *   allocator  on the node of the CPU that called malloc, though a CPU of another one touches them
 *   reuse      the same for blocks that CPUs of the other node had and freed
 *   policy     where the thread's memory policy says, as numactl sets it
 *
 * Exit status: 0 it holds, 1 it does not, 77 this machine cannot show it.
 */
#include "expect.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCKS = 1500, PAGES_ASKED = 512 };

/* A CPU of each of two nodes. */
static struct {
    size_t cpu;
    unsigned node;
} places[2];

static void go_to(size_t cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

/* How many pages of the bytes are on another node than this, or nowhere. */
static size_t pages_elsewhere(const void *start, size_t bytes, unsigned node)
{
    uintptr_t page = (uintptr_t)start / PAGE * PAGE, end = (uintptr_t)start + bytes;
    size_t elsewhere = 0;

    while (page < end) {
        void *pages[PAGES_ASKED];
        int nodes[PAGES_ASKED];
        size_t count = 0;

        for (; page < end && count < PAGES_ASKED; page += PAGE)
            pages[count++] = (void *)page;
        if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) != 0) {
            printf("the kernel does not say where pages are: %s\n", strerror(errno));
            exit(EXIT_SKIPPED);
        }
        for (size_t i = 0; i < count; i++)
            elsewhere += nodes[i] != (int)node;
    }
    return elsewhere;
}

/* A node may have CPUs but no memory. */
static int has_memory(unsigned node)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return 0;
    page[0] = 1; /* this thread runs on a CPU of the node */
    return pages_elsewhere(page, PAGE, node) == 0;
}

static void find_places(void)
{
    int found = 0, policy = -1;
    cpu_set_t mine;

    if (syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) != 0 || policy != MPOL_DEFAULT) {
        printf("this runs under a memory policy, or where none can be had\n");
        exit(EXIT_SKIPPED);
    }
    sched_getaffinity(0, sizeof mine, &mine);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        unsigned here, node;

        if (!CPU_ISSET(cpu, &mine))
            continue;
        go_to(cpu);
        if (getcpu(&here, &node) != 0 || (found == 1 && node == places[0].node) ||
            !has_memory(node))
            continue;
        places[found].cpu = cpu;
        places[found++].node = node;
    }
    if (found < 2) {
        printf("the CPUs of this process are of one memory node\n");
        exit(EXIT_SKIPPED);
    }
}

static struct {
    char *start;
    size_t bytes;
} blocks[BLOCKS];

/* Sizes of every kind: mostly small ones, some of a run of pages, a few mappings. */
static void allocate_blocks(uint64_t seed)
{
    for (int i = 0; i < BLOCKS; i++) {
        size_t most = i % 100 == 0 ? 2 << 20 : i % 10 == 0 ? 200000 : 3000;

        blocks[i].bytes = 1 + next_random(&seed) % most;
        blocks[i].start = malloc(blocks[i].bytes);
        if (blocks[i].start == NULL) {
            perror("malloc");
            exit(1);
        }
    }
}

static void touch_blocks(void)
{
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i].start, 1, blocks[i].bytes);
}

static void free_blocks(void)
{
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i].start);
}

static int check_blocks(unsigned node, const char *what)
{
    size_t wrong = 0, elsewhere = 0;

    for (int i = 0; i < BLOCKS; i++) {
        size_t pages = pages_elsewhere(blocks[i].start, blocks[i].bytes, node);

        elsewhere += pages;
        wrong += pages != 0;
    }
    if (wrong != 0)
        printf("%s: %zu of %d blocks are not on node %u, in %zu pages\n", what, wrong, BLOCKS, node,
               elsewhere);
    return wrong == 0;
}

static int allocator(uint64_t seed)
{
    int right = 1;

    for (int i = 0; i < 2; i++) {
        go_to(places[i].cpu);
        allocate_blocks(seed + (uint64_t)i);
        go_to(places[1 - i].cpu);
        touch_blocks();
        right &= check_blocks(places[i].node, "first use");
    }
    return right;
}

/* A class is served from where blocks wait for a CPU once it is in heavy use there. */
static void use_heavily(void)
{
    enum { BYTES_MOST = 3000, STEP = 64, TIMES = 3000 };

    for (size_t bytes = STEP; bytes < BYTES_MOST; bytes += STEP) {
        for (int i = 0; i < TIMES; i++)
            free(malloc(bytes));
    }
}

static int reuse(uint64_t seed)
{
    int right = 1;

    for (int i = 0; i < 2; i++) {
        go_to(places[i].cpu);
        use_heavily();
    }
    /* The same sizes each time: what one CPU frees is just what the next one wants. */
    for (int round = 0; round < 8; round++) {
        go_to(places[round % 2].cpu);
        allocate_blocks(seed);
        touch_blocks();
        right &= check_blocks(places[round % 2].node, "after the other node's frees");
        go_to(places[1 - round % 2].cpu);
        free_blocks();
    }
    return right;
}

/* As numactl does: the policy is there before the program begins. */
static int policy(uint64_t seed)
{
    unsigned long mask[16] = {0};
    char cpu[32], node[32];

    (void)seed;
    snprintf(cpu, sizeof cpu, "%zu", places[0].cpu);
    snprintf(node, sizeof node, "%u", places[1].node);
    mask[places[1].node / 64] = 1ul << places[1].node % 64;
    go_to(places[0].cpu);
    if (syscall(SYS_set_mempolicy, MPOL_BIND, mask, sizeof mask * 8) != 0) {
        printf("no memory policy can be set: %s\n", strerror(errno));
        exit(EXIT_SKIPPED);
    }
    execl("/proc/self/exe", "cia_memory_nodes", "under-policy", cpu, node, NULL);
    perror("execl");
    return 0;
}

static int under_policy(const char *cpu, const char *node)
{
    go_to(strtoul(cpu, NULL, 10));
    allocate_blocks(42);
    touch_blocks();
    return check_blocks((unsigned)strtoul(node, NULL, 10), "under a policy");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*holds)(uint64_t seed);
    } claims[] = {{"allocator", allocator}, {"reuse", reuse}, {"policy", policy}};
    const uint64_t seed = 42;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc == 4 && strcmp(argv[1], "under-policy") == 0)
        return under_policy(argv[2], argv[3]) ? 0 : 1;
    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(argv[1], claims[i].name) != 0)
            continue;
        find_places();
        printf("CPU %zu of node %u, CPU %zu of node %u, seed %llu\n", places[0].cpu, places[0].node,
               places[1].cpu, places[1].node, (unsigned long long)seed);
        return claims[i].holds(seed) ? 0 : 1;
    }
    fprintf(stderr, "usage: cia_memory_nodes allocator|reuse|policy\n");
    return 2;
}
