/*
 * SPDX-License-Identifier: MIT
 *
 * What one malloc and free cost, in nanoseconds: the block freed at once (pair), and a thousand
 * blocks allocated in a row, then freed in the same order (batch). One thread, best of several
 * rounds. Preload an allocator to measure it; compare runs that were interleaved.
 */
#include "harness/labels.h"
#include "harness/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 1000, EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

static struct choices {
    uint64_t size, operations, rounds;
} choices = {.operations = 1000000, .rounds = 5};

/* clang-format off */
static const struct option options[] = {
    {.name = "size", .kind = OPTION_NUMBER, .value_name = "BYTES", .required = true,
     .least = 1, .greatest = 1 << 20, .target = &choices.size,
     .help = "what each malloc asks for"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = BATCH, .greatest = 1ull << 40, .target = &choices.operations,
     .help = "mallocs a round (default 1000000)"},
    {.name = "rounds", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1000, .target = &choices.rounds,
     .help = "the best of so many counts (default 5)"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };
/* clang-format on */

/* Keeps the compiler from pairing a malloc with its free and dropping both. */
static inline void *opaque(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static bool pairs(void)
{
    for (uint64_t i = 0; i < choices.operations; i++) {
        void *block = opaque(malloc(choices.size));

        if (block == NULL)
            return false;
        free(block);
    }
    return true;
}

static bool batches(void)
{
    static void *blocks[BATCH];

    for (uint64_t i = 0; i < choices.operations / BATCH; i++) {
        for (int n = 0; n < BATCH; n++) {
            blocks[n] = opaque(malloc(choices.size));
            if (blocks[n] == NULL)
                return false;
        }
        for (int n = 0; n < BATCH; n++)
            free(blocks[n]);
    }
    return true;
}

/* Nanoseconds for one malloc and free; negative when memory ran out. */
static double best_of(bool (*workload)(void))
{
    double best = -1;

    for (uint64_t round = 0; round < choices.rounds; round++) {
        double start = now();

        if (!workload())
            return -1;
        double each = (now() - start) / (double)choices.operations;
        if (best < 0 || each < best)
            best = each;
    }
    return best;
}

int main(int argc, char **argv)
{
    char complaint[256];
    struct labels labels;

    switch (options_parse(options, OPTION_COUNT, argc, argv, complaint, sizeof complaint)) {
    case OPTIONS_HELP:
        options_help(stdout, "malloc_bench",
                     "Prints \"malloc,workload,size,ns\": the cost of one malloc and free.",
                     options, OPTION_COUNT);
        return 0;
    case OPTIONS_BAD:
        fprintf(stderr, "malloc_bench: %s\n", complaint);
        return EXIT_BAD_ARGUMENT;
    case OPTIONS_RUN:
        break;
    }
    choices.operations -= choices.operations % BATCH;

    double pair = best_of(pairs);
    double batch = best_of(batches);
    if (pair < 0 || batch < 0) {
        fprintf(stderr, "malloc_bench: out of memory\n");
        return EXIT_WRONG;
    }
    labels_read(&labels);
    printf("%s,pair,%lu,%.1f\n", labels.malloc, choices.size, pair);
    printf("%s,batch,%lu,%.1f\n", labels.malloc, choices.size, batch);
    return 0;
}
