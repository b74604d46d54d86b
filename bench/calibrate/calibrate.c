/*
 * SPDX-License-Identifier: MIT
 *
 * How often transactions abort, and why, against what a model of the processor has to get right:
 * lines written in one set, lines written over all sets, lines loaded after a store and before it,
 * and duration. The same program runs on hardware and under the emulator, so that a log of the one
 * calibrates the other. CSV on standard output, a row a measured point.
 *
 * A transaction here is written out in one function without a call: it must store nothing but what
 * it measures, and a return address would be a written line.
 */
#include "harness/labels.h"
#include "harness/machine.h"
#include "harness/options.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, AREA_LINES = 1 << 16, EXIT_BAD_ARGUMENT = 2, EXIT_SKIPPED = 77 };
enum { STARTED = -1, EXPLICIT = 1, CONFLICT = 4, CAPACITY = 8 };

static struct choices {
    uint64_t attempts, longest, pin;
    bool no_header;
} choices;
static bool attempts_given, longest_given, pin_given;

/* clang-format off */
static const struct command_option options[] = {
    {.name = "attempts", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1000000000, .target = &choices.attempts, .given = &attempts_given,
     .help = "transactions a point (default 2000; emulated 20)"},
    {.name = "longest", .kind = OPTION_NUMBER, .value_name = "STEPS",
     .least = 1, .greatest = 1000000000, .target = &choices.longest, .given = &longest_given,
     .help = "the longest transaction (default 10000000; emulated 100000)"},
    {.name = "pin", .kind = OPTION_NUMBER, .value_name = "CPU",
     .least = 0, .greatest = 1 << 20, .target = &choices.pin, .given = &pin_given,
     .help = "run on this CPU"},
    {.name = "no-header", .kind = OPTION_FLAG, .target = &choices.no_header,
     .help = "leave the line with the columns' names out"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };
/* clang-format on */

static struct labels labels;
static struct machine machine;
static unsigned sets = 64, ways = 8;
static volatile unsigned char *area; /* AREA_LINES lines, touched; aligned to all of them */

/* What CPUID says, which under the emulator is the modelled cache; not what the host has. */
static void ask_geometry(void)
{
    static const unsigned leaves[] = {4, 0x8000001d};

    for (unsigned l = 0; l < 2; l++) {
        for (unsigned index = 0; index < 8; index++) {
            unsigned eax, ebx, ecx, edx;

            if (!__get_cpuid_count(leaves[l], index, &eax, &ebx, &ecx, &edx) || (eax & 31) == 0)
                break;
            if ((eax & 31) == 1 && (eax >> 5 & 7) == 1) {
                sets = ecx + 1;
                ways = (ebx >> 22) + 1;
                return;
            }
        }
    }
}

static bool transactions_exist(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & 1u << 11) != 0 &&
           (edx & 1u << 11) == 0;
}

/* One transaction: loads, then stores a stride apart, then loads, then steps of a chain. */
struct shape {
    size_t loads_before, stores, stride, loads_after, steps;
};

static inline __attribute__((always_inline)) int begin(void)
{
    int status = STARTED;

    __asm__ volatile("xbegin 1f\n1:" : "+a"(status) : : "memory");
    return status;
}

static __attribute__((noinline)) int attempt(const struct shape *shape)
{
    /* The store that is to be pushed out lies in the middle, away from where loads begin. */
    volatile unsigned char *store = area + (size_t)(AREA_LINES / 2 + 7) * LINE;
    volatile unsigned char *store_end = store + shape->stores * shape->stride * LINE;
    volatile unsigned char *before = area, *before_end = area + shape->loads_before * LINE;
    volatile unsigned char *after = area, *after_end = area + shape->loads_after * LINE;
    size_t stride = shape->stride * LINE, steps = shape->steps;
    int status = begin();

    if (status == STARTED) {
        for (; before != before_end; before += LINE)
            (void)*before;
        for (; store != store_end; store += stride)
            *store = 1;
        for (; after != after_end; after += LINE)
            (void)*after;
        for (; steps != 0; steps--)
            __asm__ volatile("" : : : "memory");
        __asm__ volatile("xend" : : : "memory");
    }
    return status;
}

static void measure(const char *series, size_t x, const struct shape *shape)
{
    uint64_t committed = 0, conflict = 0, capacity = 0, explicitly = 0, other = 0;

    for (uint64_t i = 0; i < choices.attempts; i++) {
        int status = attempt(shape);

        if (status == STARTED)
            committed++;
        else if (status & EXPLICIT)
            explicitly++;
        else if (status & CAPACITY)
            capacity++;
        else if (status & CONFLICT)
            conflict++;
        else
            other++;
    }
    printf("%s,%zu,%lu,%lu,%lu,%lu,%lu,%lu,%s,%ux%u,%s,%s,%s\n", series, x, choices.attempts,
           committed, conflict, capacity, explicitly, other,
           labels.time_is_meaningless ? "emulated" : "native", sets, ways, machine.host,
           machine.cpu, machine.date);
}

/* The next of 16, 24, 32, 48, 64, ...: two points a doubling. */
static size_t next_point(size_t x)
{
    return (x & (x - 1)) == 0 ? x + x / 2 : x / 3 * 4;
}

static void measure_all(void)
{
    for (size_t x = 1; x <= 2 * ways; x++)
        measure("lines_in_one_set", x, &(struct shape){.stores = x, .stride = sets});
    size_t step = sets > 1 ? sets / 2 : 1;

    for (size_t x = sets; x <= 2 * (size_t)sets * ways; x += step)
        measure("lines_written", x, &(struct shape){.stores = x, .stride = 1});
    for (size_t x = 16; x <= AREA_LINES / 2; x = next_point(x))
        measure("loads_after_store", x,
                &(struct shape){.stores = 1, .stride = 1, .loads_after = x});
    for (size_t x = 16; x <= AREA_LINES / 2; x = next_point(x))
        measure("loads_before_store", x,
                &(struct shape){.stores = 1, .stride = 1, .loads_before = x});
    for (size_t x = 16; x <= choices.longest; x = next_point(x))
        measure("duration", x, &(struct shape){.stores = 1, .stride = 1, .steps = x});
}

static int refuse(const char *complaint)
{
    fprintf(stderr, "calibrate: %s\n", complaint);
    return EXIT_BAD_ARGUMENT;
}

static bool make_area(void)
{
    size_t bytes = (size_t)AREA_LINES * LINE;
    unsigned char *pages =
        mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return false;
    area = pages + (bytes - (uintptr_t)pages % bytes) % bytes;
    memset((void *)area, 1, bytes);
    return true;
}

int main(int argc, char **argv)
{
    char complaint[200];
    int status;

    if (!options_read("calibrate", "Abort rates against capacity and duration.", options,
                      OPTION_COUNT, argc, argv, &status))
        return status;
    labels_read(&labels);
    if (!attempts_given)
        choices.attempts = labels.time_is_meaningless ? 20 : 2000;
    if (!longest_given)
        choices.longest = labels.time_is_meaningless ? 100000 : 10000000;
    if (!machine_read(&machine, pin_given ? (int)choices.pin : MACHINE_NO_PIN,
                      labels.time_is_meaningless, complaint, sizeof complaint))
        return refuse(complaint);
    if (!transactions_exist()) {
        fprintf(stderr, "calibrate: this processor has no usable RTM\n");
        return EXIT_SKIPPED;
    }
    ask_geometry();
    if (sets * 2 * ways > AREA_LINES / 2)
        return refuse("the first-level cache is too large to be measured");
    if (!make_area())
        return refuse("no memory");
    if (!choices.no_header)
        puts("series,x,attempts,committed,conflict,capacity,explicit,other,htm,l1d,host,cpu,date");
    measure_all();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
