/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks that are allocated once and then used; see placement.h. An allocator that puts them a
 * power of two apart lets them fall on a few sets of each cache, so that most accesses miss
 * although the lines in use would fit many times.
 */
#include "placement.h"

#include "content.h"

/* walk-buffers: large buffers read in step, the same word of all of them, then the next word. */
static struct slot *buffers; /* WALK_BUFFERS a thread */

void walk_prepare(const struct job *job)
{
    buffers = workload_pages((size_t)job->threads * WALK_BUFFERS, sizeof *buffers);
}

void walk_begin(const struct job *job, unsigned thread)
{
    struct slot *own = buffers + (size_t)thread * WALK_BUFFERS;

    for (int b = 0; b < WALK_BUFFERS; b++) {
        slot_fill(&own[b], job->size);
        content_word *words = own[b].block;
        for (size_t i = 0; i < job->size / sizeof *words; i++)
            words[i] = content_mark(&own[b]) + i;
        content_write(own[b].block, job->size, content_mark(&own[b]));
    }
}

void walk_run(const struct job *job, unsigned thread)
{
    struct slot *own = buffers + (size_t)thread * WALK_BUFFERS;
    size_t bytes = job->size < WALK_BYTES ? job->size : WALK_BYTES;
    size_t words = bytes / sizeof(content_word) - 1; /* the last one may be a mark */
    uint64_t marks = 0, sum = 0, expected = 0;

    for (int b = 0; b < WALK_BUFFERS; b++)
        marks += content_mark(&own[b]);
    for (uint64_t step = 0; step < job->operations / WALK_BUFFERS; step++) {
        size_t i = step % words;

        for (int b = 0; b < WALK_BUFFERS; b++)
            sum += ((const content_word *)own[b].block)[i];
        expected += marks + WALK_BUFFERS * i;
    }
    if (sum != expected)
        content_give_up("walk-buffers: the buffers' words do not add up: buffers overlap");
}

void walk_end(const struct job *job, unsigned thread)
{
    (void)job;
    slots_empty(buffers + (size_t)thread * WALK_BUFFERS, WALK_BUFFERS);
}

/*
 * hot-l1, hot-l2: the headers of blocks of mixed lengths, visited in random order again and again,
 * each one read for the way to the next and written to, as hash tables, trees and caches do.
 */
struct hot {
    struct hot *next;
    uint64_t visits;
};

static size_t hot_blocks;
static struct slot *hot_slots; /* hot_blocks a thread; no marks: the links are the content */

static void hot_prepare(const struct job *job, size_t count)
{
    hot_blocks = count;
    hot_slots = workload_pages(job->threads * count, sizeof *hot_slots);
}

void hot_l1_prepare(const struct job *job)
{
    hot_prepare(job, HOT_L1_BLOCKS);
}

void hot_l2_prepare(const struct job *job)
{
    hot_prepare(job, HOT_L2_BLOCKS);
}

void hot_begin(const struct job *job, unsigned thread)
{
    static const size_t sizes[] = {512, 1024, 2048, 4096};
    size_t count = hot_blocks;
    struct slot *own = hot_slots + thread * count;
    uint64_t random = workload_random(job, thread);

    for (size_t i = 0; i < count; i++) {
        own[i].size = sizes[random_below(&random, sizeof sizes / sizeof *sizes)];
        own[i].block = content_malloc(own[i].size);
    }
    for (size_t i = count - 1; i > 0; i--) { /* Fisher and Yates */
        size_t j = random_below(&random, i + 1);
        struct slot other = own[j];

        own[j] = own[i];
        own[i] = other;
    }
    for (size_t i = 0; i < count; i++) {
        struct hot *hot = own[i].block;

        hot->next = own[(i + 1) % count].block;
        hot->visits = 0;
    }
}

void hot_run(const struct job *job, unsigned thread)
{
    struct hot *hot = hot_slots[thread * hot_blocks].block;

    for (uint64_t i = 0; i < job->operations; i++) {
        hot->visits++;
        hot = hot->next;
    }
}

void hot_end(const struct job *job, unsigned thread)
{
    struct slot *own = hot_slots + thread * hot_blocks;

    for (size_t i = 0; i < hot_blocks; i++) {
        const struct hot *hot = own[i].block;
        uint64_t visits = job->operations / hot_blocks + (i < job->operations % hot_blocks);

        /* Blocks that overlap share links or counts: the way round left some of them out. */
        if (hot->visits != visits || hot->next != own[(i + 1) % hot_blocks].block)
            content_lost(hot, own[i].size);
    }
    for (size_t i = 0; i < hot_blocks; i++)
        free(own[i].block);
}
