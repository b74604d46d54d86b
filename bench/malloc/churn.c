/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of many sizes and ages that never leave their thread; see churn.h.
 */
#include "churn.h"

#include "content.h"
#include "trace_sizes.h"

static struct slot *table; /* slots_of_thread slots a thread */
static size_t slots_of_thread;

static void table_prepare(const struct job *job, size_t slots)
{
    slots_of_thread = slots;
    table = workload_pages(job->threads * slots, sizeof *table);
}

static struct slot *table_of(unsigned thread)
{
    return table + thread * slots_of_thread;
}

void churn_end(const struct job *job, unsigned thread)
{
    (void)job;
    slots_empty(table_of(thread), slots_of_thread);
}

/*
 * trace-*: sizes as a real program asks for them, from a table of quantiles. How long blocks live
 * is not of the trace: three of four replace one of the youngest, the fourth any of them.
 */
enum { TRACE_SLOTS = 60000, TRACE_YOUNG = 64, QUANTILES = 10000 };

static uint32_t quantile[QUANTILES];

static void trace_prepare(const struct job *job, const struct trace_size *sizes)
{
    size_t filled = 0;

    table_prepare(job, TRACE_SLOTS);
    for (const struct trace_size *row = sizes; row->requests > 0; row++) {
        for (uint32_t i = 0; i < row->requests && filled < QUANTILES; i++)
            quantile[filled++] = row->size;
    }
    while (filled < QUANTILES) /* the table's rows are rounded */
        quantile[filled++] = sizes->size;
}

void trace_cc1_prepare(const struct job *job)
{
    trace_prepare(job, trace_sizes_cc1);
}

void trace_python_prepare(const struct job *job)
{
    trace_prepare(job, trace_sizes_python);
}

void trace_run(const struct job *job, unsigned thread)
{
    struct slot *slots = table_of(thread);
    uint64_t random = workload_random(job, thread);

    for (uint64_t i = 0; i < job->operations; i++) {
        uint64_t range = random_next(&random) % 4 == 0 ? TRACE_SLOTS : TRACE_YOUNG;
        struct slot *slot = &slots[random_below(&random, range)];

        slot_replace(slot, quantile[random_below(&random, QUANTILES)]);
    }
}

/* alloc-test: a random place of a large table is filled if it is empty and emptied if it is full,
 * so that at each moment about half of the places hold a block. */
enum { ALLOC_TEST_SLOTS = 1 << 18 };

void alloc_test_prepare(const struct job *job)
{
    table_prepare(job, ALLOC_TEST_SLOTS);
}

void alloc_test_run(const struct job *job, unsigned thread)
{
    struct slot *slots = table_of(thread);
    uint64_t random = workload_random(job, thread);

    for (uint64_t i = 0; i < job->operations; i++) {
        struct slot *slot = &slots[random_below(&random, ALLOC_TEST_SLOTS)];

        if (slot->block != NULL)
            slot_empty(slot);
        else
            slot_fill(slot, random_skewed(&random, 16, 8));
    }
}

/*
 * sh6, sh8: runs of blocks of one size, more of a small size than of a large one. sh6 frees every
 * other block of a full table, refills the holes with other sizes, then frees all, the youngest
 * first. sh8 frees most of each run at once and lets a few blocks replace the oldest of the table.
 */
enum { SH_SLOTS = 4096, SH_STEP = 24, SH_MOST = 1000, SH8_RUN = 8, SH8_KEPT = 2 };

void sh_prepare(const struct job *job)
{
    table_prepare(job, SH_SLOTS + SH8_RUN);
}

/* Sizes in rising order, over and over: 8, 32, ... B, each so often that a run has 4 KiB or so. */
struct sh_sizes {
    size_t size, left;
};

static size_t sh_next_size(struct sh_sizes *sizes)
{
    if (sizes->left == 0) {
        sizes->size = sizes->size + SH_STEP <= SH_MOST ? sizes->size + SH_STEP : 8;
        sizes->left = 1 + 4096 / (sizes->size + SH_STEP);
    }
    sizes->left--;
    return sizes->size;
}

void sh6_run(const struct job *job, unsigned thread)
{
    struct slot *slots = table_of(thread);
    struct sh_sizes sizes = {0};

    /* 3/2 of the table are allocated in one cycle. */
    for (uint64_t i = 0; i < job->operations / (SH_SLOTS + SH_SLOTS / 2); i++) {
        for (size_t n = 0; n < SH_SLOTS; n++)
            slot_fill(&slots[n], sh_next_size(&sizes));
        for (size_t n = 0; n < SH_SLOTS; n += 2)
            slot_empty(&slots[n]);
        for (size_t n = 0; n < SH_SLOTS; n += 2)
            slot_fill(&slots[n], sh_next_size(&sizes));
        for (size_t n = SH_SLOTS; n > 0; n--)
            slot_empty(&slots[n - 1]);
    }
}

void sh8_run(const struct job *job, unsigned thread)
{
    struct slot *slots = table_of(thread), *run = slots + SH_SLOTS;
    struct sh_sizes sizes = {0};
    size_t oldest = 0;

    for (uint64_t i = 0; i < job->operations / (SH8_RUN + SH8_KEPT); i++) {
        for (int n = 0; n < SH8_RUN; n++)
            slot_fill(&run[n], sh_next_size(&sizes));
        for (int n = 0; n < SH8_KEPT; n++) {
            slot_replace(&slots[oldest], sh_next_size(&sizes));
            oldest = (oldest + 1) % SH_SLOTS;
        }
        for (int n = SH8_RUN; n > 0; n--)
            slot_empty(&run[n - 1]);
    }
}

/*
 * realloc: strings that grow by half of their length until they are as long as was drawn for each,
 * then start again; several at a time, so that one stands in the other's way.
 */
enum { STRINGS = 64, STRING_START = 16, STRING_DOUBLINGS = 14 };

struct string {
    struct slot slot;
    size_t full;
};

static struct string *strings;

void realloc_prepare(const struct job *job)
{
    strings = workload_pages((size_t)job->threads * STRINGS, sizeof *strings);
}

static void string_grow(struct slot *slot)
{
    size_t longer = slot->size + slot->size / 2;
    uint64_t mark = content_mark(slot);
    char *block = content_opaque(realloc(slot->block, longer));

    if (block == NULL)
        content_no_memory(longer);
    content_check(block, slot->size, mark); /* what it held came along */
    slot->block = block;
    slot->size = longer;
    content_write(block, longer, mark);
}

void realloc_run(const struct job *job, unsigned thread)
{
    struct string *own = strings + (size_t)thread * STRINGS;
    uint64_t random = workload_random(job, thread);

    for (uint64_t i = 0; i < job->operations; i++) {
        struct string *string = &own[random_below(&random, STRINGS)];

        if (string->slot.block != NULL && string->slot.size >= string->full)
            slot_empty(&string->slot);
        if (string->slot.block == NULL) {
            string->full = random_skewed(&random, 64, STRING_DOUBLINGS);
            slot_fill(&string->slot, STRING_START);
        }
        string_grow(&string->slot);
    }
}

void realloc_end(const struct job *job, unsigned thread)
{
    (void)job;
    for (int i = 0; i < STRINGS; i++)
        slots_empty(&strings[(size_t)thread * STRINGS + i].slot, 1);
}
