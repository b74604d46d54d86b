/*
 * SPDX-License-Identifier: MIT
 *
 * What one malloc and its free cost: blocks of one size, freed at once or a thousand in a row.
 */
#include "simple.h"

#include "content.h"

void pair_run(const struct job *job, unsigned thread)
{
    uint64_t mark = content_mark(job) + thread;

    for (uint64_t i = 0; i < job->operations; i++, mark++) {
        void *block = content_malloc(job->size);

        content_write(block, job->size, mark);
        block = content_opaque(block);
        content_check(block, job->size, mark);
        free(block);
    }
}

static struct slot *batches; /* BATCH slots a thread */

void batch_prepare(const struct job *job)
{
    batches = workload_pages(job->threads * BATCH, sizeof *batches);
}

void batch_run(const struct job *job, unsigned thread)
{
    struct slot *slots = batches + (size_t)thread * BATCH;

    for (uint64_t i = 0; i < job->operations / BATCH; i++) {
        for (int n = 0; n < BATCH; n++)
            slot_fill(&slots[n], job->size);
        for (int n = 0; n < BATCH; n++)
            slot_empty(&slots[n]);
    }
}
