/*
 * SPDX-License-Identifier: MIT
 *
 * The live bytes stay what they are; in each phase all blocks are replaced, in random order, by
 * blocks of another range of sizes. An allocator whose memory of one size cannot serve another
 * one's grows. With several threads, a phase frees the blocks that the next thread has allocated.
 */
#include "phases.h"

#include "tagged.h"
#include "watch.h"

#include <stdatomic.h>

/* The same order with every seed, so that a phase's figures compare between runs. */
static const struct range {
    uint32_t least, most;
} ranges[PHASES] = {
    {32, 128},    {200, 1000},     {8000, 64000}, {64, 256},       {1000, 8000},
    {32, 2000},   {64000, 600000}, {16, 64},      {500, 520},      {1000, 8000},
    {64, 256},    {8000, 64000},   {200, 1000},   {64000, 600000}, {40, 100},
    {1000, 8000}, {4000, 4200},    {200, 1000},   {32, 2000},      {64, 256},
};
enum { MEAN_LEAST = (16 + 64) / 2 };

/* What one thread has allocated in the last phase lies at the table's beginning and what one
 * allocates in this phase at its end, or the other way round. */
static struct half {
    void **blocks;
    size_t count;
} halves[2][THREADS_MOST];
static size_t room;

static atomic_bool more;

void phases_prepare(const struct job *job)
{
    uint64_t bytes = job->size * 1000000 / job->threads;

    room = bytes / MEAN_LEAST + bytes / MEAN_LEAST / 20 + 1000;
    void **blocks = workload_resident_pages(2 * job->threads * room, sizeof *blocks);
    for (unsigned t = 0; t < job->threads; t++) {
        for (int i = 0; i < 2; i++, blocks += room)
            halves[i][t] = (struct half){.blocks = blocks};
    }
}

/* Replaces the old blocks by new ones of the range, live bytes never above target by more than one
 * block. */
static void replace_all(struct half *old, struct half *new, const struct range *range,
                        uint64_t target, uint64_t *live, uint64_t *random, uint64_t *serial)
{
    while (*live < target || old->count > 0) {
        if (*live < target && new->count < room) {
            size_t size = range->least + random_below(random, range->most - range->least + 1);

            new->blocks[new->count++] = tagged_malloc(size, serial);
            *live += size;
        } else if (old->count > 0) {
            void *block = tagged_take(old->blocks, &old->count, random_below(random, old->count));

            *live -= tagged_size(block);
            tagged_free(block);
        } else {
            break; /* the table is full */
        }
    }
}

static uint64_t bytes_of(const struct half *half)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < half->count; i++)
        bytes += tagged_size(half->blocks[i]);
    return bytes;
}

void phases_run(const struct job *job, unsigned thread)
{
    uint64_t random = workload_random(job, thread), serial = 0;
    uint64_t target = job->size * 1000000 / job->threads;

    for (uint64_t phase = 0;; phase++) {
        const struct range *range = &ranges[phase % PHASES];
        struct half *new = &halves[phase % 2][thread];
        struct half *old = &halves[(phase + 1) % 2][(thread + 1) % job->threads];
        uint64_t live = bytes_of(old);

        replace_all(old, new, range, target, &live, &random, &serial);
        if (thread == 0)
            atomic_store(&more, workload_goes_on(job, phase + 1));
        workload_moment(job, thread, "phase %lu: %u-%u", phase + 1, range->least, range->most);
        if (!atomic_load(&more))
            break;
        workload_gather(job); /* more is written again behind it */
    }
    workload_did(serial);
}

void phases_end(const struct job *job, unsigned thread)
{
    for (int i = 0; i < 2; i++) {
        struct half *half = &halves[i][thread];

        while (half->count > 0)
            tagged_free(half->blocks[--half->count]);
    }
    workload_moment(job, thread, "freed");
}
