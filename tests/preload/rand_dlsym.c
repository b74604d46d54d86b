/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for the tests: a dlsym that allocates in every way before it looks anything up,
 * as dynamic linkers may, and frees as well. While librand_malloc.so looks up its next allocator
 * these calls come back to it. The blocks are kept for the program to use and free.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 6, KEPT_SIZE = 48 };

void *kept_blocks[KEPT];
int kept_calls;

void *dlsym(void *restrict handle, const char *restrict symbol)
{
    static void *(*next)(void *, const char *);

    if (next == NULL)
        *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (next == NULL)
        *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (kept_calls++ == 0) {
        kept_blocks[0] = malloc(KEPT_SIZE);
        kept_blocks[1] = calloc(KEPT_SIZE, 1);
        kept_blocks[2] = realloc(malloc(8), KEPT_SIZE);
        kept_blocks[3] = memalign(64, KEPT_SIZE);
        kept_blocks[4] = aligned_alloc(32, KEPT_SIZE);
        if (posix_memalign(&kept_blocks[5], 128, KEPT_SIZE) != 0)
            kept_blocks[5] = NULL;
        free(malloc(100));
        for (int i = 0; i < KEPT; i++) {
            if (kept_blocks[i] != NULL)
                memset(kept_blocks[i], 'a' + i, KEPT_SIZE);
        }
    }
    free(calloc(1, 32)); /* at every call: a look-up that looks up would never end */
    /* A jump, not a call (-O2 sees to it): RTLD_NEXT counts from the code that dlsym returns to. */
    return next(handle, symbol);
}
