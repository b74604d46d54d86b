/*
 * SPDX-License-Identifier: MIT
 *
 * The heap blocks that are live at a moment of the replay, by address. The programs of a replay
 * have address spaces of their own: HEAP_ADDRESS makes one number of program and address.
 *
 * The replay does not repeat the allocator's own locks. So a block may be handed out again before
 * the event that freed it is replayed: the newer block takes the place, and the late event is
 * passed over.
 */
#ifndef CHIP_HEAP_H
#define CHIP_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_ADDRESS(program, address) ((uint64_t)(program) << 48 ^ (address))

struct heap_block {
    uint64_t address, end; /* end: the first byte behind it */
    uint32_t stack;        /* who asked, for trace_stack; 0: not known */
    uint32_t late_frees;   /* of earlier blocks at this address */
};

struct heap {
    void *tree;
};

/* Ends the process with one line if there is no memory. */
void heap_allocated(struct heap *heap, uint64_t address, uint64_t size, uint32_t stack);
void heap_freed(struct heap *heap, uint64_t address);

/* Up to `most` live blocks with a byte in [begin, end), in the order of their addresses. */
size_t heap_blocks_in(const struct heap *heap, uint64_t begin, uint64_t end,
                      const struct heap_block **blocks, size_t most);

void heap_destroy(struct heap *heap);

#endif
