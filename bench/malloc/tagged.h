/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks that carry their own size and a serial number in their first and last eight bytes, so that
 * a table of millions of them is bare pointers and any thread may free any of them. Every page of a
 * block is written. A block that another one overlaps, or that was given out twice, is found when
 * it is freed.
 */
#ifndef BENCH_MALLOC_TAGGED_H
#define BENCH_MALLOC_TAGGED_H

#include "content.h"

enum { TAGGED_LEAST = 16, TAGGED_PAGE = 4096 };

/* A block of TAGGED_LEAST to 2^32 - 1 bytes; serial counts up. */
static inline void *tagged_malloc(size_t size, uint64_t *serial)
{
    uint64_t tag = (uint64_t)size | ++*serial << 32;
    void *block = content_malloc(size);

    for (size_t at = TAGGED_PAGE; at + sizeof tag < size; at += TAGGED_PAGE)
        *(content_word *)((char *)block + at) = tag;
    *content_last(block, size) = tag;
    *(content_word *)block = tag;
    return block;
}

static inline size_t tagged_size(const void *block)
{
    return (uint32_t) * (const content_word *)block;
}

/* The tag goes with the block: of two that hold it, the second one finds that it is not theirs. */
static inline void tagged_free(void *block)
{
    uint64_t tag = *(content_word *)block;
    size_t size = (uint32_t)tag;

    if (__builtin_expect(size < TAGGED_LEAST || *content_last(block, size) != tag, 0))
        content_lost(block, size);
    *(content_word *)block = 0;
    free(block);
}

/* Takes one of the first *count pointers at random; the last one moves to its place. */
static inline void *tagged_take(void **blocks, size_t *count, size_t at)
{
    void *block = blocks[at];

    blocks[at] = blocks[--*count];
    return block;
}

#endif
