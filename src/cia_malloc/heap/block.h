/*
 * SPDX-License-Identifier: MIT
 *
 * From an address to its block: which chunk, span and bit, and whether it is an address that was
 * handed out at all. Needs no lock: reads what does not change while the block lives.
 */
#ifndef MPLACE_CIA_BLOCK_H
#define MPLACE_CIA_BLOCK_H

#include "cia_malloc/heap/size_classes/cached_block.h"
#include "cia_malloc/pages/chunk.h"
#include "cia_malloc/pages/page_map.h"

/* One line on standard error that names the address, and the end of the process. */
_Noreturn void block_is_wrong(const void *address, const char *what);

/* The chunk that the address is in, or the process ends. For an address that page_map_huge does not
   know. */
struct chunk *block_chunk(const void *address);

/* Where a block is. */
struct block {
    struct chunk *chunk;
    uint32_t span; /* index in chunk->spans */
    uint64_t bit;
    char *start;         /* its first byte; the address looked up may lie behind it */
    size_t bytes;        /* from start on */
    unsigned size_class; /* or CLASS_LARGE */
};

/* The block that the address is in, or the process ends. Does not say whether it is handed out. */
struct block block_at(struct chunk *chunk, const void *address);

/* Where a block of a size class belongs. */
struct block_place {
    uint32_t span;
    uint64_t bit;
};

/* What is said of the page that the address is in. */
static inline const struct page_info *block_page(const struct chunk *chunk, const void *address)
{
    return &chunk->pages[(uintptr_t)address % CHUNK_BYTES >> PAGE_SHIFT];
}

/* How many bytes behind block 0 of its run the address is. */
static inline uint32_t block_offset(const struct page_info *info, const void *address)
{
    return magazine_low_address(address) - info->start;
}

/* First page of the run, counted in the chunk: its spans are chunk->spans[run_page] on, see
   class_layout_span. */
static inline uint32_t block_run_page(const struct page_info *info)
{
    return info->start % CHUNK_BYTES >> PAGE_SHIFT;
}

/*
 * Whether a block that may be cached begins at the address, on a page of that info: one begins in
 * its line, and where it is in the run tells where in the line. The same steps for all classes, so
 * that the processor need not guess which kind a block is of. (Runs begin at a line, so no address
 * before block 0 is in a line in which one begins.)
 */
static inline __attribute__((always_inline)) bool block_begins(const struct page_info *info,
                                                               const void *address)
{
    return page_info_starts_line(info, address) &&
           size_class_divides(info->size_class, block_offset(info, address));
}

/* Of a page of the class with that layout. */
static inline struct block_place block_place_at(const struct class_layout *layout,
                                                const struct page_info *info,
                                                struct block_position position)
{
    uint32_t phase = span_phase(layout, info->run_type, position.span);

    return (struct block_place){
        .span = class_layout_span(layout, block_run_page(info), position.span),
        .bit = (uint64_t)1 << span_bit_of_block(layout, phase, position.block),
    };
}

/*
 * That of an address which is known to have been handed out and to be of the class with that
 * layout: one that is cached was checked when it was freed. A third of the instructions of
 * block_at.
 */
static inline struct block_place block_place(const struct class_layout *layout,
                                             const struct chunk *chunk, const void *address)
{
    const struct page_info *info = block_page(chunk, address);

    return block_place_at(
        layout, info,
        class_layout_locate(layout, block_offset(info, address) >> layout->unit_shift));
}

/* The process ends unless the address was handed out: the first byte, or an aligned one. */
void block_check_start(const struct block *block, const void *address);

#endif
