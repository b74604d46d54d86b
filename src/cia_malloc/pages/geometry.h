/*
 * SPDX-License-Identifier: MIT
 *
 * Sizes that the processor and the kernel give: lines, pages, and our unit of address space.
 */
#ifndef MPLACE_CIA_GEOMETRY_H
#define MPLACE_CIA_GEOMETRY_H

#include <stddef.h>

enum {
    LINE_SHIFT = 6,
    LINE_BYTES = 1 << LINE_SHIFT,
    GRANULE_SHIFT = 4, /* what every block is aligned to */
    GRANULE_BYTES = 1 << GRANULE_SHIFT,
    PAGE_SHIFT = 12,
    PAGE_BYTES = 1 << PAGE_SHIFT,
    LINES_PER_PAGE = PAGE_BYTES / LINE_BYTES,
    CHUNK_SHIFT = 22,
    CHUNK_BYTES = 1 << CHUNK_SHIFT, /* 4 MiB: two huge pages, and small under RLIMIT_AS */
    CHUNK_PAGES = CHUNK_BYTES / PAGE_BYTES,
};

static inline size_t round_up_to_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

#endif
