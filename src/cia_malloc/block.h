/*
 * SPDX-License-Identifier: MIT
 *
 * From an address to its block: which chunk, span and bit, and whether it is an address that was
 * handed out at all. Needs no lock: reads what does not change while the block lives.
 */
#ifndef MPLACE_CIA_BLOCK_H
#define MPLACE_CIA_BLOCK_H

#include "cia_malloc/chunk.h"
#include "cia_malloc/magazine.h"

/* One line on standard error that names the address, and the end of the process. */
_Noreturn void block_is_wrong(const void *address, const char *what);

/* Where a block is. */
struct block {
    struct chunk *chunk;
    uint32_t span; /* index in chunk->spans */
    uint64_t bit;
    char *start;         /* its first byte; the address looked up may lie behind it */
    size_t bytes;        /* from start on */
    unsigned size_class; /* or CLASS_LARGE */
};

/* Counted from the first line of the page's run. */
static inline uint32_t block_line(const struct page_info *info, size_t offset_in_chunk)
{
    return (uint32_t)(offset_in_chunk >> LINE_SHIFT) -
           ((uint32_t)info->run_page * LINES_PER_PAGE + info->first_line);
}

/* What a magazine must know of a block. */
struct block_slot {
    unsigned size_class;
    uint32_t slot;
};

/*
 * The class and slot of the block that begins at the address, if it is one that magazines take;
 * else, or when no block begins there, a class beyond those. Constant time: the page's info, a
 * multiply, and the class's constants. Reads no line that malloc or free writes.
 */
static inline __attribute__((always_inline)) struct block_slot
block_slot_at(const struct chunk *chunk, const void *address)
{
    size_t offset = (uintptr_t)address % CHUNK_BYTES;
    const struct page_info *info = &chunk->pages[offset >> PAGE_SHIFT];
    struct block_slot at = {.size_class = CLASS_NONE};

    if (__builtin_expect(info->size_class < MAGAZINE_CLASSES && offset % LINE_BYTES == 0, 1)) {
        int32_t slot = class_layout_slot_at(&class_layouts[info->size_class], info->run_type,
                                            block_line(info, offset));

        if (__builtin_expect(slot >= 0, 1))
            at = (struct block_slot){info->size_class, (uint32_t)slot};
    }
    return at;
}

/* The block that the address is in, or the process ends. Does not say whether it is handed out. */
struct block block_at(struct chunk *chunk, const void *address);

/* The process ends unless the address was handed out: the first byte, or an aligned one. */
void block_check_start(const struct block *block, const void *address);

#endif
