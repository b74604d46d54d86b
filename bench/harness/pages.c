/*
 * SPDX-License-Identifier: MIT
 *
 * Anonymous mappings; see pages.h.
 */
#include "harness/pages.h"

#include <errno.h>
#include <sys/mman.h>

void *pages_map(size_t count, size_t element_size)
{
    size_t bytes;

    if (count == 0 || __builtin_mul_overflow(count, element_size, &bytes)) {
        errno = EINVAL;
        return NULL;
    }
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void pages_unmap(void *pages, size_t count, size_t element_size)
{
    if (pages != NULL)
        munmap(pages, count * element_size);
}
