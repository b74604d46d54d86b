/*
 * SPDX-License-Identifier: MIT
 *
 * The malloc family as programs know it: arguments and errno, nothing else. What glibc promises
 * holds:
 *   - a success leaves errno alone, a failure sets ENOMEM or EINVAL; free preserves errno;
 *   - malloc(0) is a block of its own; realloc(p, 0) frees p and returns NULL;
 *   - memalign rounds an odd alignment up to a power of two; aligned_alloc takes any size;
 *   - no size above PTRDIFF_MAX is served.
 * Exported without symbol versions: one definition serves references to any version.
 */
#include "cia_malloc/api/allocator.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/heap/size_class.h"
#include "cia_malloc/large/large.h"
#include "cia_malloc/profile/profile.h"
#include "cia_malloc/statistics/statistics.h"

#include "base/text/mistyped_settings.h"
#include "base/report.h"
#include "mplace.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* C23, not yet in the headers of glibc 2.36. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static bool too_long(size_t bytes)
{
    return __builtin_expect(bytes > PTRDIFF_MAX, 0);
}

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
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

/*
 * This and the next one, and reallocarray, call by the name that the process has for it, as glibc's
 * reallocarray does: a program that brings malloc, free and realloc of its own may not bring these.
 */
EXPORT void free_sized(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *block = NULL;

    if (!__builtin_mul_overflow(count, size, &bytes) && !too_long(bytes))
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
    void *moved = too_long(bytes) ? NULL : cia_reallocate(block, bytes);
    return moved != NULL ? moved : out_of_memory();
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return out_of_memory();
    return realloc(block, bytes);
}

static void *allocate_aligned(size_t alignment, size_t bytes)
{
    /* The sum must not overflow where pages are rounded and alignment is reserved. */
    if (too_long(bytes) || alignment > PTRDIFF_MAX - bytes)
        return NULL;
    return cia_allocate_aligned(alignment, bytes);
}

static void *allocate_rounded(size_t alignment, size_t bytes)
{
    /* As glibc: an alignment beyond half of the address space cannot be rounded up. */
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    if (!is_power_of_two(alignment))
        alignment = alignment <= 1 ? 1 : (size_t)1 << (64 - __builtin_clzl(alignment - 1));
    void *block = allocate_aligned(alignment, bytes);
    return block != NULL ? block : out_of_memory();
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return allocate_rounded(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return allocate_rounded(alignment, bytes);
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) != 0 || !is_power_of_two(alignment))
        return EINVAL;
    void *block = allocate_aligned(alignment, bytes);
    if (block == NULL) {
        errno = ENOMEM; /* as glibc, and as programs look for; *result stays as it was */
        return ENOMEM;
    }
    *result = block;
    return 0;
}

EXPORT void *valloc(size_t bytes)
{
    return allocate_rounded(PAGE_BYTES, bytes);
}

EXPORT void *pvalloc(size_t bytes)
{
    if (too_long(bytes))
        return out_of_memory();
    return allocate_rounded(PAGE_BYTES, (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1));
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
    struct cia_totals totals;

    cia_totals_read(&totals);
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

static int saturate(size_t value)
{
    return value > INT_MAX ? INT_MAX : (int)value;
}

EXPORT struct mallinfo mallinfo(void)
{
    struct mallinfo2 wide = mallinfo2();

    return (struct mallinfo){
        .arena = saturate(wide.arena),
        .ordblks = saturate(wide.ordblks),
        .smblks = saturate(wide.smblks),
        .fsmblks = saturate(wide.fsmblks),
        .hblks = saturate(wide.hblks),
        .hblkhd = saturate(wide.hblkhd),
        .uordblks = saturate(wide.uordblks),
        .fordblks = saturate(wide.fordblks),
        .keepcost = saturate(wide.keepcost),
    };
}

EXPORT int malloc_info(int options, FILE *stream)
{
    struct cia_totals totals;

    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    cia_totals_read(&totals);
    fprintf(stream,
            "<malloc version=\"cia-1\">\n"
            "<total type=\"live\" count=\"%lu\" size=\"%zu\"/>\n"
            "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
            "<system type=\"current\" size=\"%zu\"/>\n"
            "<allocations count=\"%lu\"/>\n"
            "</malloc>\n",
            totals.live_blocks, totals.live_bytes, totals.huge_blocks, totals.huge_bytes,
            totals.mapped_bytes, totals.allocations);
    return 0;
}

/* Ours, and then the lines that glibc's text ends with, for those who look for them. */
EXPORT void malloc_stats(void)
{
    struct report report;
    struct cia_totals totals;
    size_t most_bytes, most_blocks;

    cia_totals_read(&totals);
    huge_most(&most_bytes, &most_blocks);
    report_open(&report, STDERR_FILENO);
    cia_report(&report);
    report_format(&report,
                  "Total (incl. mmap):\n"
                  "system bytes     = %10zu\n"
                  "in use bytes     = %10zu\n"
                  "max mmap regions = %10zu\n"
                  "max mmap bytes   = %10zu\n",
                  totals.mapped_bytes, totals.live_bytes, most_blocks, most_bytes);
    report_close(&report);
}

/* Every parameter is taken and none has an effect, as glibc does with those it does not know. */
EXPORT int mallopt(int parameter, int value)
{
    (void)parameter;
    (void)value;
    return 1;
}

EXPORT const char *mplace_malloc_name(void)
{
    return "cia";
}

EXPORT int64_t mplace_malloc_value(const char *name)
{
    return name != NULL ? cia_statistics_value(name) : -1;
}

EXPORT size_t mplace_malloc_usable_class(size_t bytes)
{
    return cia_usable_class(bytes);
}

/*
 * glibc's internal names, which some programs call to reach "the real" malloc: a block from there
 * would come back to our free.
 */
#define ALIAS(name) __attribute__((visibility("default"), alias(name)))
void *__libc_malloc(size_t bytes) ALIAS("malloc");
void __libc_free(void *block) ALIAS("free");
void *__libc_calloc(size_t count, size_t size) ALIAS("calloc");
void *__libc_realloc(void *block, size_t bytes) ALIAS("realloc");
void *__libc_memalign(size_t alignment, size_t bytes) ALIAS("memalign");
void *__libc_valloc(size_t bytes) ALIAS("valloc");
void *__libc_pvalloc(size_t bytes) ALIAS("pvalloc");
int __posix_memalign(void **result, size_t alignment, size_t bytes) ALIAS("posix_memalign");

/* Early among constructors: our fork handlers then run last before fork and first after it. */
__attribute__((constructor(101))) static void start(void)
{
    mistyped_settings_report("libcia_malloc.so", SETTINGS_CIA | SETTINGS_ALL);
    heap_table_register_fork();
    cia_statistics_start();
    profile_start();
}
