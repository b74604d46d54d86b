/*
 * SPDX-License-Identifier: MIT
 *
 * The malloc family as programs know it, with malloc_family/family.c: arguments and errno, nothing
 * else. What glibc promises holds:
 *   - a success leaves errno alone, a failure sets ENOMEM or EINVAL; free preserves errno;
 *   - malloc(0) is a block of its own; realloc(p, 0) frees p and returns NULL;
 *   - no size above PTRDIFF_MAX is served.
 * Exported without symbol versions: one definition serves references to any version.
 */
#include "bank_malloc/api/allocator.h"
#include "bank_malloc/api/statistics.h"

#include "base/text/mistyped_settings.h"
#include "base/report.h"
#include "malloc_family/family.h"
#include "mplace.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* errno is the kernel's business in no system call of ours. */
static inline void *or_out_of_memory(void *block)
{
    return __builtin_expect(block != NULL, 1) ? block : out_of_memory();
}

EXPORT void *malloc(size_t bytes)
{
    return or_out_of_memory(bank_allocate(bytes));
}

EXPORT void free(void *block)
{
    bank_release(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return out_of_memory();
    return or_out_of_memory(bank_allocate_zeroed(bytes));
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return malloc(bytes);
    if (bytes == 0) {
        bank_release(block);
        return NULL;
    }
    return or_out_of_memory(bank_reallocate(block, bytes));
}

void *family_allocate_aligned(size_t alignment, size_t bytes)
{
    return bank_allocate_aligned(alignment, bytes);
}

EXPORT size_t malloc_usable_size(void *block)
{
    return block != NULL ? bank_usable(block) : 0;
}

/* The pool keeps its pages: their frames are what it is for. */
EXPORT int malloc_trim(size_t keep)
{
    (void)keep;
    return 0;
}

/* arena = uordblks + fordblks: the pool, and what of it is in use and is free. */
EXPORT struct mallinfo2 mallinfo2(void)
{
    struct bank_totals totals;
    struct bank_free free;

    bank_free_read(&free);
    bank_totals_read(&totals);
    return (struct mallinfo2){
        .arena = totals.pool_bytes,
        .ordblks = free.blocks,
        .uordblks = totals.pool_bytes > free.bytes ? totals.pool_bytes - free.bytes : 0,
        .fordblks = free.bytes,
    };
}

EXPORT int malloc_info(int options, FILE *stream)
{
    struct mallinfo2 info;

    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    info = mallinfo2();
    fprintf(stream,
            "<malloc version=\"bank-1\">\n"
            "<total type=\"live\" size=\"%zu\"/>\n"
            "<system type=\"current\" size=\"%zu\"/>\n"
            "</malloc>\n",
            info.uordblks, info.arena);
    return 0;
}

/* Ours, and then the lines that glibc's text ends with, for those who look for them. */
EXPORT void malloc_stats(void)
{
    struct report report;
    struct mallinfo2 info = mallinfo2();

    report_open(&report, STDERR_FILENO);
    bank_report(&report);
    report_format(&report,
                  "Total (incl. mmap):\n"
                  "system bytes     = %10zu\n"
                  "in use bytes     = %10zu\n"
                  "max mmap regions = %10zu\n"
                  "max mmap bytes   = %10zu\n",
                  info.arena, info.uordblks, (size_t)0, (size_t)0);
    report_close(&report);
}

EXPORT const char *mplace_malloc_name(void)
{
    return "bank";
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
    mistyped_settings_report("libbank_malloc.so", SETTINGS_BANK);
    bank_start();
    bank_register_fork();
    bank_statistics_start();
}
