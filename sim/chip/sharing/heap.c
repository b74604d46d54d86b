/*
 * SPDX-License-Identifier: MIT
 *
 * Live heap blocks; see heap.h. A search tree of libc. Two ranges that overlap compare as equal:
 * live blocks are disjoint, so that this is an order among them, and a range finds a block in it.
 */
#include "chip/sharing/heap.h"

#include "chip/engine/allocation.h"

#include <search.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct heap_block *a = left, *b = right;

    return (a->address >= b->end) - (a->end <= b->address);
}

static struct heap_block *find(const struct heap *heap, uint64_t begin, uint64_t end)
{
    struct heap_block range = {.address = begin, .end = end};
    struct heap_block **found = tfind(&range, &heap->tree, compare);

    return found == NULL ? NULL : *found;
}

void heap_allocated(struct heap *heap, uint64_t address, uint64_t size, uint32_t stack)
{
    struct heap_block *block = allocation_checked(malloc(sizeof *block)), *old;

    *block = (struct heap_block){.address = address, .end = address + size, .stack = stack};
    block->end += size == 0;
    while ((old = find(heap, block->address, block->end)) != NULL) {
        if (old->address == address)
            block->late_frees = old->late_frees + 1;
        tdelete(old, &heap->tree, compare);
        free(old);
    }
    allocation_checked(tsearch(block, &heap->tree, compare));
}

void heap_freed(struct heap *heap, uint64_t address)
{
    struct heap_block *block = find(heap, address, address + 1);

    if (block == NULL || block->address != address)
        return;
    if (block->late_frees > 0) {
        block->late_frees--;
        return;
    }
    tdelete(block, &heap->tree, compare);
    free(block);
}

size_t heap_blocks_in(const struct heap *heap, uint64_t begin, uint64_t end,
                      const struct heap_block **blocks, size_t most)
{
    const struct heap_block *block = begin < end && most > 0 ? find(heap, begin, end) : NULL;
    size_t count;

    if (block == NULL)
        return 0;
    count = heap_blocks_in(heap, begin, block->address, blocks, most);
    if (count < most)
        blocks[count++] = block;
    return count + heap_blocks_in(heap, block->end, end, blocks + count, most - count);
}

void heap_destroy(struct heap *heap)
{
    tdestroy(heap->tree, free);
    heap->tree = NULL;
}
