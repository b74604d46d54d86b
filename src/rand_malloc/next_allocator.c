/*
 * SPDX-License-Identifier: MIT
 *
 * The look-up; see next_allocator.h.
 */
#include "rand_malloc/next_allocator.h"

#include "base/real_symbol.h"
#include "base/report.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/*
 * Set while this thread looks up: dlsym may call calloc, and free too (it drops the text of an
 * earlier error), and they must not look up in turn. Initial-exec: no allocation at first use.
 */
static _Thread_local bool looking_up __attribute__((tls_model("initial-exec")));

/* The next definition if it is in the object that begins at base, which NULL stands for any. */
static void *find(const char *name, const void *base)
{
    void *address = real_symbol(name, NULL);

    return base == NULL || object_of(address) == base ? address : NULL;
}

bool next_allocator_find(struct next_allocator *next)
{
    if (looking_up)
        return false;
    int saved_errno = errno;
    Dl_info where = {0};
    looking_up = true;

    /* ISO C has no conversion between object and function pointers: by way of void *. */
    *(void **)&next->malloc = find("malloc", NULL);
    if (next->malloc == NULL || dladdr((void *)next->malloc, &where) == 0) {
        report_line("mplace: librand_malloc.so finds no allocator behind it");
        abort();
    }
    next->object = where.dli_fname;
    *(void **)&next->free = find("free", where.dli_fbase);
    *(void **)&next->calloc = find("calloc", where.dli_fbase);
    *(void **)&next->realloc = find("realloc", where.dli_fbase);
    if (next->free == NULL || next->calloc == NULL || next->realloc == NULL) {
        report_line("mplace: librand_malloc.so: %s defines malloc but not free, calloc and realloc",
                    next->object);
        abort();
    }
    *(void **)&next->malloc_usable_size = find("malloc_usable_size", where.dli_fbase);
    *(void **)&next->memalign = find("memalign", where.dli_fbase);
    *(void **)&next->aligned_alloc = find("aligned_alloc", where.dli_fbase);
    *(void **)&next->posix_memalign = find("posix_memalign", where.dli_fbase);
    *(void **)&next->valloc = find("valloc", where.dli_fbase);
    *(void **)&next->pvalloc = find("pvalloc", where.dli_fbase);

    looking_up = false;
    errno = saved_errno;
    return true;
}
