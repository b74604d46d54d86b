/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of 5 to 25 MB that come and go, each page of them written once: what counts is whether the
 * allocator keeps pages or gives them back to the kernel and faults them in anew.
 */
#include "large.h"

#include "content.h"

enum { LARGE_SLOTS = 20, LARGE_LEAST = 5000000, LARGE_MOST = 25000000, PAGE = 4096 };

static struct slot *table; /* LARGE_SLOTS a thread */

void malloc_large_prepare(const struct job *job)
{
    table = workload_pages((size_t)job->threads * LARGE_SLOTS, sizeof *table);
}

void malloc_large_run(const struct job *job, unsigned thread)
{
    struct slot *slots = table + (size_t)thread * LARGE_SLOTS;
    uint64_t random = workload_random(job, thread);

    for (uint64_t i = 0; i < job->operations; i++) {
        struct slot *slot = &slots[random_below(&random, LARGE_SLOTS)];

        slot_replace(slot, LARGE_LEAST + random_below(&random, LARGE_MOST - LARGE_LEAST));
        for (size_t at = PAGE; at + sizeof i < slot->size; at += PAGE)
            *(content_word *)((char *)slot->block + at - sizeof i) = i;
    }
}

void malloc_large_end(const struct job *job, unsigned thread)
{
    (void)job;
    slots_empty(table + (size_t)thread * LARGE_SLOTS, LARGE_SLOTS);
}
