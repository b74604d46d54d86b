/*
 * SPDX-License-Identifier: MIT
 *
 * Run under librand_malloc.so in front of rand_picky_next.so: a request that the next allocator
 * just grants is granted, though any extra would make it fail; errno shows nothing of the second
 * try; and nobody tells the next allocator a size that it never saw.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1000000 / 64 * 64 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rand_picky_test: line %d: %s does not hold\n", __LINE__, #condition); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void granted(void *block)
{
    CHECK(block != NULL);
    CHECK(errno == 4711);
    CHECK(malloc_usable_size(block) >= LIMIT);
    free(block);
}

int main(void)
{
    void (*free_sized)(void *, size_t), (*free_aligned_sized)(void *, size_t, size_t);

    for (int i = 0; i < 100; i++) {
        void *block = NULL;

        errno = 4711;
        granted(malloc(LIMIT));
        granted(calloc(1, LIMIT));
        granted(realloc(malloc(10), LIMIT));
        granted(reallocarray(malloc(10), LIMIT / 64, 64));
        granted(memalign(16, LIMIT));
        granted(aligned_alloc(64, LIMIT));
        CHECK(posix_memalign(&block, 32, LIMIT) == 0);
        granted(block);
        block = valloc(100);
        CHECK(block != NULL && (uintptr_t)block % 4096 == 0 && errno == 4711);
        free(block);
        block = pvalloc(5000);
        CHECK(block != NULL && (uintptr_t)block % 4096 == 0 && errno == 4711);
        CHECK(malloc_usable_size(block) >= 8192);
        free(block);

        block = malloc(10);
        CHECK(malloc(LIMIT + 4096) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(realloc(block, LIMIT + 4096) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(memalign(16, LIMIT + 4096) == NULL && errno == ENOMEM);
        free(block);
    }
    *(void **)&free_sized = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&free_aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    free_sized(malloc(100), 100);
    free_aligned_sized(aligned_alloc(64, 128), 64, 128);
    return 0;
}
