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

/*
 * The class of the block that begins at the address, if it is one whose blocks may wait in
 * magazines; else, or when no block begins there, a number beyond those. Constant time: the page's
 * info, a multiply, and the class's constants. Reads no line that malloc or free writes.
 */
static inline __attribute__((always_inline)) unsigned block_class_at(const struct chunk *chunk,
                                                                     const void *address)
{
    size_t offset = (uintptr_t)address % CHUNK_BYTES;
    const struct page_info *info = &chunk->pages[offset >> PAGE_SHIFT];

    if (__builtin_expect(info->size_class < MAGAZINE_CLASSES && offset % LINE_BYTES == 0, 1) &&
        __builtin_expect(
            class_layout_is_start(&class_layouts[info->size_class], block_line(info, offset)), 1))
        return info->size_class;
    return CLASS_NONE;
}

/* The block that the address is in, or the process ends. Does not say whether it is handed out. */
struct block block_at(struct chunk *chunk, const void *address);

/* The process ends unless the address was handed out: the first byte, or an aligned one. */
void block_check_start(const struct block *block, const void *address);

#endif
