/*
 * SPDX-License-Identifier: MIT
 *
 * Timing a pair of reads; see timing.h. Both loads are issued at once: reads of different banks
 * overlap, those of one bank wait for each other, which makes the difference larger than it is
 * between single reads.
 */
#include "dram_probe/timing.h"

#include <sched.h>
#include <x86intrin.h>

static uint32_t measure_pair(void *context, size_t first, size_t second)
{
    const struct physical_sample *sample = context;
    const volatile char *a = sample->line[first], *b = sample->line[second];
    uint64_t start, end;
    unsigned cpu;

    _mm_clflush((const void *)a);
    _mm_clflush((const void *)b);
    _mm_mfence();
    start = __rdtsc();
    _mm_lfence();
    (void)*a;
    (void)*b;
    end = __rdtscp(&cpu);
    _mm_lfence();
    return end - start < UINT32_MAX ? (uint32_t)(end - start) : UINT32_MAX;
}

struct dram_probe timing_probe(const struct physical_sample *sample)
{
    int cpu = sched_getcpu();
    cpu_set_t one;

    CPU_ZERO(&one);
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
    }
    return (struct dram_probe){
        .physical = sample->physical,
        .count = sample->count,
        .measure = measure_pair,
        .context = (void *)sample,
    };
}
