/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for one test: malloc(777) gives the same block every fifth time, so that two
 * nodes of a ring of that size overlap. All else is passed on.
 */
#include <dlfcn.h>
#include <stddef.h>

void *malloc(size_t size);
void free(void *block);

enum { BROKEN_SIZE = 777 };
static long long shared_block[(BROKEN_SIZE + 7) / 8];
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

void *malloc(size_t size)
{
    static unsigned count;

    if (size == BROKEN_SIZE && ++count % 5 == 0)
        return shared_block;
    if (next_malloc == NULL) {
        /* free first: the look-ups themselves may free, and would look it up again for ever. */
        *(void **)&next_free = dlsym(RTLD_NEXT, "free");
        *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    }
    return next_malloc(size);
}

void free(void *block)
{
    if (block != NULL && block != (void *)shared_block)
        next_free(block);
}
