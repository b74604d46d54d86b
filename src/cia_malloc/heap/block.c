/*
 * SPDX-License-Identifier: MIT
 *
 * See block.h.
 */
#include "cia_malloc/heap/block.h"

#include "base/report.h"

_Noreturn void block_is_wrong(const void *address, const char *what)
{
    report_fatal("libcia_malloc: %p given to free, realloc or malloc_usable_size is %s", address,
                 what);
}

struct chunk *block_chunk(const void *address)
{
    struct chunk *chunk = page_map_chunk(address);

    if (__builtin_expect(chunk == NULL, 0))
        block_is_wrong(address, "not from this allocator");
    return chunk;
}

struct block block_at(struct chunk *chunk, const void *address)
{
    const struct page_info *info = block_page(chunk, address);
    uint32_t offset = block_offset(info, address);
    struct block at = {.chunk = chunk, .size_class = info->size_class};

    if (__builtin_expect(info->size_class >= CLASS_LARGE, 0)) {
        const struct span *span = &chunk->spans[block_run_page(info)];

        if (info->size_class != CLASS_LARGE || offset >= LINE_BYTES)
            block_is_wrong(address, "not the address of a block");
        at.span = block_run_page(info);
        at.bit = 1;
        at.start = span->base;
        at.bytes = (size_t)span->run_pages * PAGE_BYTES - info->start % PAGE_BYTES;
        return at;
    }
    const struct class_layout *layout = &class_layouts[info->size_class];
    struct block_position position = class_layout_locate(layout, offset >> layout->unit_shift);
    uint32_t first_unit = position.span * layout->span_units + position.block * layout->units;

    if (__builtin_expect(
            position.span >= layout->run_spans || position.block >= layout->span_blocks, 0))
        block_is_wrong(address, "between two blocks");
    struct block_place place = block_place_at(layout, info, position);
    at.span = place.span;
    at.bit = place.bit;
    at.start = (char *)address - offset + ((size_t)first_unit << layout->unit_shift);
    at.bytes = size_class_bytes(info->size_class);
    return at;
}

/* Of a block that was handed out from an address inside it: how that is aligned. */
static size_t alignment_of(const struct block *block)
{
    const uint64_t *words = block->chunk->remotes[block->span].alignment;
    uint32_t shift = 0;

    for (uint32_t i = 0; i < 2; i++)
        shift |= (uint32_t)((__atomic_load_n(&words[i], __ATOMIC_RELAXED) & block->bit) != 0) << i;
    return (size_t)128 << shift;
}

void block_check_start(const struct block *block, const void *address)
{
    const struct span *span = &block->chunk->spans[block->span];
    const char *handed_out = block->start;

    /* The owner may write other bits of the words meanwhile; this block's bits stand while it
       lives. */
    if (__builtin_expect(block->size_class < CLASS_LARGE &&
                             (__atomic_load_n(&span->interior, __ATOMIC_RELAXED) & block->bit) != 0,
                         0))
        handed_out += -(uintptr_t)handed_out & (alignment_of(block) - 1);
    if (__builtin_expect(handed_out != address, 0))
        block_is_wrong(address, "inside a block");
}
