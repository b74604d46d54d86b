/*
 * SPDX-License-Identifier: MIT
 *
 * See mapping.h.
 */
#include "bank_malloc/memory/mapping.h"

#include "bank_malloc/memory/frames.h"
#include "base/pages.h"
#include "base/report.h"

#include <errno.h>
#include <sys/resource.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17 */
#endif

static char *map_at(char *address, size_t bytes, int protection, int flags)
{
    long result = system_call_6(SYS_mmap, (long)address, (long)bytes, protection,
                                MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    return result < 0 && result > -4096 ? NULL : (char *)result;
}

char *mapping_reserve(size_t bytes)
{
    char *raw = map_at(NULL, bytes + HUGE_PAGE_BYTES, PROT_NONE, 0);

    if (raw == NULL)
        return NULL;
    char *base = raw + (-(uintptr_t)raw & (HUGE_PAGE_BYTES - 1));
    if (base > raw)
        pages_unmap(raw, (size_t)(base - raw));
    pages_unmap(base + bytes, (size_t)(raw + HUGE_PAGE_BYTES - base));
    return base;
}

static bool populate(char *from, size_t bytes)
{
    long result = system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_POPULATE_WRITE, 0, 0, 0);

    if (result != -EINVAL && result != -ENOSYS && result != -EPERM)
        return result == 0;
    for (size_t at = 0; at < bytes; at += FRAME_BYTES) /* before Linux 5.14, or in a sandbox */
        *(volatile char *)(from + at) = 0;
    return true;
}

/* Called with the pool's lock held, which guards is_refused. */
static void lock_pages(char *from, size_t bytes)
{
    static bool is_refused;

    if (is_refused || system_call(SYS_mlock, (long)from, (void *)bytes, 0) == 0)
        return;
    is_refused = true;
    report_line("mplace: libbank_malloc.so: the limit of locked memory (ulimit -l) leaves pages of "
                "the pool unlocked: the kernel may swap them and move them to other banks");
}

bool mapping_open(char *from, size_t bytes, bool is_fresh, bool frames_matter)
{
    /* mprotect where that does, for mmap asks whether all mappings are within RLIMIT_AS. */
    if (!(is_fresh &&
          system_call(SYS_mprotect, (long)from, (void *)bytes, PROT_READ | PROT_WRITE) == 0) &&
        map_at(from, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) == NULL)
        return false;
    if (!frames_matter) {
        /* A mapping that was never touched takes the place that its pages are moved to for its own:
           back here it would be one of its own for ever. */
        *(volatile char *)from = 0;
        return true;
    }
    (void)system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_HUGEPAGE, 0, 0, 0);
    bool is_there = populate(from, bytes);
    (void)system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_NOHUGEPAGE, 0, 0, 0);
    if (is_there)
        lock_pages(from, bytes);
    return is_there;
}

bool mapping_close(char *from, size_t bytes)
{
    return map_at(from, bytes, PROT_NONE, MAP_FIXED) != NULL;
}

void mapping_empty(char *from, size_t bytes)
{
    if (system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_DONTNEED_LOCKED, 0, 0, 0) != 0)
        (void)mapping_close(from, bytes); /* one mapping more, or two */
}

bool mapping_move(char *from, char *to, size_t bytes)
{
    return system_call_6(SYS_mremap, (long)from, (long)bytes, (long)bytes,
                         MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0) == (long)to;
}

bool mapping_close_hole(char *from, size_t bytes)
{
    return map_at(from, bytes, PROT_NONE, MAP_FIXED_NOREPLACE) == from;
}

uint64_t mapping_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                : UINT64_MAX;
}
