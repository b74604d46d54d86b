/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for one test: libc's allocator with a leak. One of 64 blocks is never freed.
 */
#include <stdatomic.h>
#include <stdlib.h>

extern void __libc_free(void *block);

void free(void *block)
{
    enum { LEAK_EACH = 64 };
    static atomic_uint count;

    if (atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) % LEAK_EACH != 0)
        __libc_free(block);
}
