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

EXPORT int malloc_trim(size_t keep)
{
    (void)keep; /* there is no top of the heap to keep */
    return bank_trim();
}

/* arena = uordblks + fordblks: the pool, and what of it is in use and is free. keepcost: what
   malloc_trim would give back at most. No block is a mapping of its own. */
EXPORT struct mallinfo2 mallinfo2(void)
{
    struct bank_memory memory;

    bank_memory_read(&memory);
    return (struct mallinfo2){
        .arena = memory.totals.pool_bytes,
        .ordblks = memory.free_blocks,
        .uordblks = memory.totals.pool_bytes - memory.free_bytes,
        .fordblks = memory.free_bytes,
        .keepcost = bank_settings.pool == 0 ? memory.free_bytes : 0,
    };
}

void family_write_info(FILE *stream)
{
    struct mallinfo2 info = mallinfo2();

    fprintf(stream,
            "<malloc version=\"bank-1\">\n"
            "<total type=\"live\" size=\"%zu\"/>\n"
            "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n"
            "<total type=\"mmap\" count=\"0\" size=\"0\"/>\n"
            "<system type=\"current\" size=\"%zu\"/>\n"
            "</malloc>\n",
            info.uordblks, info.ordblks, info.fordblks, info.arena);
}

void family_report(struct report *report, struct family_sums *sums)
{
    struct mallinfo2 info = mallinfo2();

    *sums = (struct family_sums){.system_bytes = info.arena, .used_bytes = info.uordblks};
    bank_report(report);
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

/* Early among constructors of the program itself; those of its libraries may run before. */
__attribute__((constructor(101))) static void start(void)
{
    mistyped_settings_report("libbank_malloc.so", SETTINGS_BANK);
    bank_start();
    bank_register_fork();
    bank_statistics_start();
}
