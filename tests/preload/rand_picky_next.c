/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for the tests, to stand behind librand_malloc.so: it grants requests of up to
 * PICKY_LIMIT bytes from libc and refuses greater ones with ENOMEM. It also has C23's sized frees,
 * which abort: nobody who changes sizes may call them. Of the aligned calls it defines
 * posix_memalign alone, so whoever calls another on it has to make do with that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

enum { PICKY_LIMIT = 1000000 };

void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
size_t malloc_usable_size(void *block);

static int refused(size_t size)
{
    if (size > PICKY_LIMIT)
        errno = ENOMEM;
    return size > PICKY_LIMIT;
}

void *malloc(size_t size)
{
    return refused(size) ? NULL : __libc_malloc(size);
}

void free(void *block)
{
    __libc_free(block);
}

void *calloc(size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        total = (size_t)-1;
    return refused(total) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return refused(size) ? NULL : __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    if (size > PICKY_LIMIT)
        return ENOMEM;
    *block = __libc_memalign(alignment, size);
    return *block != NULL ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *block)
{
    static size_t (*next)(void *);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(block);
}

void free_sized(void *block, size_t size)
{
    (void)block;
    (void)size;
    abort();
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)block;
    (void)alignment;
    (void)size;
    abort();
}
