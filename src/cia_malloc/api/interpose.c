/*
 * SPDX-License-Identifier: MIT
 *
 * The malloc family as programs know it, with malloc_family/family.c, and mplace.h's figures:
 * arguments and errno. What glibc promises holds:
 *   - a success leaves errno alone, a failure sets ENOMEM or EINVAL; free preserves errno;
 *   - malloc(0) is a block of its own; realloc(p, 0) frees p and returns NULL;
 *   - no size above PTRDIFF_MAX is served.
 * Exported without symbol versions: one definition serves references to any version.
 */
#include "cia_malloc/api/allocator.h"
#include "cia_malloc/cpu_cache/fork.h"
#include "cia_malloc/large/large.h"
#include "cia_malloc/profile/profile.h"
#include "cia_malloc/statistics/statistics.h"

#include "base/text/mistyped_settings.h"
#include "base/report.h"
#include "malloc_family/family.h"
#include "mplace.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* A line of code begun is a line to be fetched. */
#define HOT __attribute__((hot, aligned(64)))

EXPORT HOT void *malloc(size_t bytes)
{
    return cia_allocate(bytes);
}

EXPORT HOT void free(void *block)
{
    cia_free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *block = NULL;

    if (!__builtin_mul_overflow(count, size, &bytes))
        block = cia_allocate_zeroed(bytes);
    return block != NULL ? block : out_of_memory();
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return cia_allocate(bytes);
    if (bytes == 0) {
        cia_free(block);
        return NULL;
    }
    void *moved = bytes <= PTRDIFF_MAX ? cia_reallocate(block, bytes) : NULL;
    return moved != NULL ? moved : out_of_memory();
}

void *family_allocate_aligned(size_t alignment, size_t bytes)
{
    return cia_allocate_aligned(alignment, bytes);
}

EXPORT size_t malloc_usable_size(void *block)
{
    return block != NULL ? cia_usable(block) : 0;
}

EXPORT int malloc_trim(size_t keep)
{
    (void)keep; /* there is no top of the heap to keep */
    return cia_trim();
}

/*
 * As glibc's as far as there is the same here. arena = uordblks + fordblks: what is not a live
 * block is free, be it a block that is back (ordblks counts those of more than 1 KiB, smblks and
 * fsmblks the others), one never handed out, or a page. keepcost: pages that malloc_trim would give
 * back. Blocks that are mappings are hblks and hblkhd.
 */
EXPORT struct mallinfo2 mallinfo2(void)
{
    struct cia_totals totals = cia_totals_read();

    return (struct mallinfo2){
        .arena = totals.chunk_bytes,
        .ordblks = totals.free_blocks,
        .smblks = totals.short_free_blocks,
        .fsmblks = totals.short_free_bytes,
        .hblks = totals.huge_blocks,
        .hblkhd = totals.huge_bytes,
        .uordblks = totals.live_bytes - totals.huge_bytes,
        .fordblks = totals.chunk_bytes - (totals.live_bytes - totals.huge_bytes),
        .keepcost = totals.dirty_bytes,
    };
}

void family_write_info(FILE *stream)
{
    struct cia_totals totals = cia_totals_read();

    fprintf(stream,
            "<malloc version=\"cia-1\">\n"
            "<total type=\"live\" count=\"%lu\" size=\"%lu\"/>\n"
            "<total type=\"mmap\" count=\"%lu\" size=\"%lu\"/>\n"
            "<system type=\"current\" size=\"%lu\"/>\n"
            "<allocations count=\"%lu\"/>\n"
            "</malloc>\n",
            totals.live_blocks, totals.live_bytes, totals.huge_blocks, totals.huge_bytes,
            totals.mapped_bytes, totals.allocations);
}

void family_report(struct report *report, struct family_sums *sums)
{
    struct cia_totals totals = cia_report(report, false);

    sums->system_bytes = totals.mapped_bytes;
    sums->used_bytes = totals.live_bytes;
    sums->most_mapped_bytes = atomic_load_explicit(&huge_totals.bytes_most, memory_order_relaxed);
    sums->most_mappings = atomic_load_explicit(&huge_totals.blocks_most, memory_order_relaxed);
}

EXPORT const char *mplace_malloc_name(void)
{
    return "cia";
}

EXPORT int64_t mplace_malloc_value(const char *name)
{
    const struct cia_figure *figure = name != NULL ? cia_figure_find(name) : NULL;
    int saved_errno = errno;

    if (figure == NULL)
        return -1;
    /* Each waits for sub-heaps, some 20 ms where the holder of one is stopped. */
    struct cia_totals totals = cia_totals_read();
    if (figure->offset == offsetof(struct cia_totals, anon_huge_page_bytes))
        totals.anon_huge_page_bytes = page_source_huge_bytes();
    errno = saved_errno;
    return (int64_t)cia_figure_value(figure, &totals);
}

EXPORT size_t mplace_malloc_usable_class(size_t bytes)
{
    return cia_usable_class(bytes);
}

/*
 * glibc's internal names, which some programs call to reach "the real" malloc: a block from there
 * would come back to our free.
 */
void *__libc_malloc(size_t bytes) ALIAS("malloc");
void __libc_free(void *block) ALIAS("free");
void *__libc_calloc(size_t count, size_t size) ALIAS("calloc");
void *__libc_realloc(void *block, size_t bytes) ALIAS("realloc");

/* Early among constructors: our fork handlers then run last before fork and first after it. */
__attribute__((constructor(101))) static void start(void)
{
    mistyped_settings_report("libcia_malloc.so", SETTINGS_CIA | SETTINGS_ALL);
    fork_register_handlers();
    (void)page_source_huge_pages_are_given(); /* a sandbox may end who opens a file later */
    cia_statistics_start();
    profile_start();
}
