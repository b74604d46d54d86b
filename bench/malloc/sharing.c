/*
 * SPDX-License-Identifier: MIT
 *
 * Each thread writes to a small block of its own, many times over. Where two threads' blocks share
 * a line it travels between their caches at each write.
 */
#include "sharing.h"

#include "content.h"

enum { WRITES = 1000 }; /* to each block, as one operation */

/* Blocks that the first thread allocated side by side, one for each thread. */
static struct slot *handed;

/* A counter in the block's first bytes, counted up in memory and not in a register. */
static void write_often(size_t size)
{
    char *block = content_malloc(size);
    volatile content_word *counter = (volatile content_word *)block;
    uint64_t start = content_mark(block);

    *counter = start;
    for (int i = 0; i < WRITES; i++)
        *counter = *counter + 1;
    content_check(block, sizeof start, start + WRITES);
    free(block);
}

/* Active false sharing: the allocator gives one line to two threads by itself. */
void cache_thrash_run(const struct job *job, unsigned thread)
{
    (void)thread;
    for (uint64_t i = 0; i < job->operations; i++)
        write_often(job->size);
}

void cache_scratch_prepare(const struct job *job)
{
    handed = workload_pages(job->threads, sizeof *handed);
    for (unsigned t = 0; t < job->threads; t++)
        slot_fill(&handed[t], job->size);
}

/* Passive: each thread frees the block that it was handed, and may get it back, in the line of the
 * blocks that the other threads were handed. */
void cache_scratch_run(const struct job *job, unsigned thread)
{
    slot_empty(&handed[thread]);
    cache_thrash_run(job, thread);
}
