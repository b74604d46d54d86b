/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of 5 to 25 MB get other lengths at random, and some are replaced. The program uses few of
 * their pages, and asks the kernel for special pages in some of them, which splits the kernel's
 * areas. What counts is address space and the number of mappings as much as resident memory: an
 * allocator may lose addresses behind blocks that shrink, and mappings that no longer merge.
 */
#include "resize.h"

#include "content.h"
#include "watch.h"

#include <stdint.h>
#include <sys/mman.h>

enum {
    LIVE = 20,
    SIZE_LEAST = 5000000,
    SIZE_MOST = 25000000,
    PAGE = 4096,
    STRIDE = 64 * PAGE, /* of the pages that are used */
    LOCKED = 16 * PAGE, /* below any limit on locked memory, of all blocks together */
    MOMENTS = 10,
};

static struct long_block {
    unsigned char *bytes; /* NULL: none yet */
    size_t size;
    uint64_t mark;
    unsigned char *locked; /* NULL: no part is */
} * table;                 /* LIVE a thread */

void resize_prepare(const struct job *job)
{
    table = workload_resident_pages((size_t)job->threads * LIVE, sizeof *table);
}

static void check(const struct long_block *block, size_t size)
{
    for (size_t at = 0; at + sizeof block->mark <= size; at += STRIDE) {
        if (*(const content_word *)(block->bytes + at) != block->mark)
            content_lost(block->bytes, block->size);
    }
}

static void write_all(struct long_block *block, uint64_t mark)
{
    block->mark = mark;
    for (size_t at = 0; at + sizeof mark <= block->size; at += STRIDE)
        *(content_word *)(block->bytes + at) = mark;
}

static void unlock(struct long_block *block)
{
    if (block->locked != NULL)
        munlock(block->locked, LOCKED);
    block->locked = NULL;
}

static void give_back(struct long_block *block)
{
    if (block->bytes == NULL)
        return;
    check(block, block->size);
    unlock(block);
    free(block->bytes);
    block->bytes = NULL;
}

static void change_size(struct long_block *block, size_t size)
{
    size_t kept = size < block->size ? size : block->size;

    if (block->bytes == NULL)
        kept = 0;
    unlock(block);
    unsigned char *bytes = content_opaque(realloc(block->bytes, size));
    if (bytes == NULL)
        content_no_memory(size);
    block->bytes = bytes;
    check(block, kept);
    block->size = size;
}

/* Whole pages somewhere in the block. */
static unsigned char *pages_within(const struct long_block *block, size_t length, uint64_t *random)
{
    size_t room = block->size - length - PAGE;
    uintptr_t at = (uintptr_t)block->bytes + random_below(random, room);

    return (unsigned char *)((at + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

/* Refusals are the kernel's right and change nothing here. */
static void ask_for_special_pages(struct long_block *block, uint64_t *random)
{
    switch (random_below(random, 8)) {
    case 0:
        madvise(pages_within(block, 1 << 20, random), 1 << 20, MADV_NOHUGEPAGE);
        break;
    case 1:
        block->locked = pages_within(block, LOCKED, random);
        if (mlock(block->locked, LOCKED) != 0)
            block->locked = NULL;
        break;
    default:
        break;
    }
}

void resize_run(const struct job *job, unsigned thread)
{
    struct long_block *blocks = table + (size_t)thread * LIVE;
    uint64_t random = workload_random(job, thread), operations = 0;
    unsigned moments = 0;

    for (; workload_goes_on(job, operations); operations++) {
        struct long_block *block = &blocks[random_below(&random, LIVE)];

        if (random_below(&random, 4) == 0)
            give_back(block);
        change_size(block, SIZE_LEAST + random_below(&random, SIZE_MOST - SIZE_LEAST + 1));
        write_all(block, random_next(&random));
        ask_for_special_pages(block, &random);
        /* Of the first thread alone, and not waiting for the others. */
        if (thread == 0 && workload_progress(job, operations + 1) * MOMENTS >= moments + 1)
            watch_moment("%u0 %% resized", ++moments);
    }
    workload_did(operations);
}

void resize_end(const struct job *job, unsigned thread)
{
    for (int i = 0; i < LIVE; i++)
        give_back(&table[(size_t)thread * LIVE + i]);
    workload_moment(job, thread, "freed");
}
