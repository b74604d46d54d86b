/*
 * SPDX-License-Identifier: MIT
 *
 * Pages from the kernel, for code that may hold a lock of the program: another library may stand
 * before libc's mmap and lock or allocate there. errno stays as it is.
 */
#ifndef MPLACE_BASE_PAGES_H
#define MPLACE_BASE_PAGES_H

#include "base/system_call.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* The address that the system call mmap or mremap returned; NULL for an error. */
static inline void *pages_mapped(long result)
{
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

/* Fresh zeroed private pages; flags are added to MAP_PRIVATE and MAP_ANONYMOUS. NULL: no memory. */
static inline void *pages_map(size_t bytes, int flags)
{
    return pages_mapped(system_call_6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0));
}

static inline void pages_unmap(void *pages, size_t bytes)
{
    (void)system_call_6(SYS_munmap, (long)pages, (long)bytes, 0, 0, 0, 0);
}

/* Private anonymous pages become zero, and give their memory back unless it is locked. */
static inline void pages_clear(void *pages, size_t bytes)
{
    if (system_call(SYS_madvise, (long)pages, (void *)bytes, MADV_DONTNEED) != 0)
        __builtin_memset(pages, 0, bytes);
}

/*
 * Zeroes a block for calloc, where the last page's memory behind it is nobody's. A very long one's
 * pages are the kernel's to zero, when they are touched, for the program may touch few. From so
 * many bytes on, as glibc, which maps such a block anew each time: a page costs the kernel several
 * times what memset takes.
 */
static inline void *pages_zero_block(void *block, size_t bytes)
{
    enum { ZEROED_BY_KERNEL = 32 << 20, PAGE = 4096 };
    size_t to_page = -(uintptr_t)block & (PAGE - 1);

    if (bytes >= ZEROED_BY_KERNEL) {
        pages_clear((char *)block + to_page, (bytes - to_page + PAGE - 1) & ~(size_t)(PAGE - 1));
        bytes = to_page;
    }
    return __builtin_memset(block, 0, bytes);
}

#endif
