/*
 * SPDX-License-Identifier: MIT
 *
 * See family.h. Arguments and errno as glibc promises them: memalign rounds an odd alignment up to
 * a power of two, aligned_alloc takes any size, no size above PTRDIFF_MAX is served.
 */
#include "malloc_family/family.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
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
    if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX - bytes)
        return NULL;
    return family_allocate_aligned(alignment, bytes);
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
    if (bytes > PTRDIFF_MAX)
        return out_of_memory();
    return allocate_rounded(PAGE_BYTES, (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1));
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
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    family_write_info(stream);
    return 0;
}

/* The library's text, and then the lines that glibc's ends with, for those who look for them. */
EXPORT void malloc_stats(void)
{
    struct family_sums sums;
    struct report report;

    report_open(&report, STDERR_FILENO);
    family_report(&report, &sums);
    report_format(&report,
                  "Total (incl. mmap):\n"
                  "system bytes     = %10zu\n"
                  "in use bytes     = %10zu\n"
                  "max mmap regions = %10zu\n"
                  "max mmap bytes   = %10zu\n",
                  sums.system_bytes, sums.used_bytes, sums.most_mappings, sums.most_mapped_bytes);
    report_close(&report);
}

/* Every parameter is taken and none has an effect, as glibc does with those it does not know. */
EXPORT int mallopt(int parameter, int value)
{
    (void)parameter;
    (void)value;
    return 1;
}

/* glibc's internal names: an allocator has the others. */
void *__libc_memalign(size_t alignment, size_t bytes) ALIAS("memalign");
void *__libc_valloc(size_t bytes) ALIAS("valloc");
void *__libc_pvalloc(size_t bytes) ALIAS("pvalloc");
int __posix_memalign(void **result, size_t alignment, size_t bytes) ALIAS("posix_memalign");
