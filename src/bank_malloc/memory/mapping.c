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

char *mapping_far(size_t bytes)
{
    /* Simulators give a process 2^47 bytes of addresses in name only: the kernel's own choice
     * tells. */
    static const uintptr_t wide = (uintptr_t)1 << 44, narrow_end = (uintptr_t)60 << 30;
    static uintptr_t end; /* of what is left; 0: not known yet */

    if (end == 0) {
        char *chosen = map_at(NULL, FRAME_BYTES, PROT_NONE, 0);

        if (chosen == NULL)
            return NULL;
        pages_unmap(chosen, FRAME_BYTES);
        end = (uintptr_t)chosen < wide ? narrow_end : (uintptr_t)chosen / 8 * 7;
    }
    bytes += HUGE_PAGE_BYTES; /* between one and the next */
    if (bytes >= end / 2)
        return NULL;
    end = (end - bytes) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
    return (char *)end;
}

/* A mapping where there is none. */
static enum mapping_answer map_new(char *from, size_t bytes, int protection)
{
    long result = system_call_6(SYS_mmap, (long)from, (long)bytes, protection,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (result == (long)from)
        return MAPPING_OPEN;
    if (result < 0 && result > -4096)
        return result == -EEXIST ? MAPPING_TAKEN : MAPPING_REFUSED;
    pages_unmap((void *)result, bytes); /* before Linux 4.17 */
    return MAPPING_TAKEN;
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

/* False: some of it is locked, or not mapped. */
static bool drop(char *from, size_t bytes)
{
    return system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_DONTNEED, 0, 0, 0) == 0;
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

/*
 * A mapping of ours gets memory of the process's own. Where frames do not matter it stays, for one
 * in its place would be apart from its neighbours, and the child of a fork would run out of
 * mappings between the blocks of its parent. A program may have taken it from the child
 * (MADV_DONTFORK).
 */
static bool renew(char *from, size_t bytes, bool frames_matter)
{
    return (!frames_matter && drop(from, bytes)) ||
           map_at(from, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) != NULL;
}

enum mapping_answer mapping_open(char *from, size_t bytes, bool is_ours, bool frames_matter)
{
    if (is_ours) {
        if (!renew(from, bytes, frames_matter))
            return MAPPING_STUCK;
    } else {
        enum mapping_answer answer = map_new(from, bytes, PROT_READ | PROT_WRITE);

        if (answer != MAPPING_OPEN)
            return answer;
    }
    if (!frames_matter) {
        /* A mapping that was never touched takes the place that its pages are moved to for its own:
           back here it would be one of its own for ever. */
        *(volatile char *)from = 0;
        return MAPPING_OPEN;
    }
    (void)system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_HUGEPAGE, 0, 0, 0);
    bool is_there = populate(from, bytes);
    (void)system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_NOHUGEPAGE, 0, 0, 0);
    if (!is_there)
        return mapping_close(from, bytes) ? MAPPING_REFUSED : MAPPING_STUCK;
    lock_pages(from, bytes);
    return MAPPING_OPEN;
}

bool mapping_close(char *from, size_t bytes)
{
    return system_call_6(SYS_munmap, (long)from, (long)bytes, 0, 0, 0, 0) == 0;
}

void mapping_empty(char *from, size_t bytes)
{
    if (system_call_6(SYS_madvise, (long)from, (long)bytes, MADV_DONTNEED_LOCKED, 0, 0, 0) != 0)
        (void)map_at(from, bytes, PROT_READ | PROT_WRITE, MAP_FIXED); /* before Linux 5.18 */
}

void mapping_drop_shared(char *from, size_t bytes)
{
    (void)drop(from, bytes);
}

enum mapping_answer mapping_claim(char *from, size_t bytes)
{
    return map_new(from, bytes, PROT_NONE);
}

bool mapping_move(char *from, char *to, size_t bytes)
{
    return system_call_6(SYS_mremap, (long)from, (long)bytes, (long)bytes,
                         MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0) == (long)to;
}

bool mapping_table_grow(struct mapping_table *table, size_t bytes)
{
    bytes = (bytes + FRAME_BYTES - 1) & ~(size_t)(FRAME_BYTES - 1);
    if (bytes <= table->bytes)
        return true;
    table->planned = bytes;
    if (map_new(table->base + table->bytes, bytes - table->bytes, PROT_READ | PROT_WRITE) !=
        MAPPING_OPEN) {
        table->planned = table->bytes; /* what is there is another's, in a child too */
        return false;
    }
    table->bytes = bytes;
    return true;
}

void mapping_table_start_child(struct mapping_table *table)
{
    if (table->planned > table->bytes)
        (void)mapping_close(table->base + table->bytes, table->planned - table->bytes);
}
