/*
 * SPDX-License-Identifier: MIT
 *
 * Run under rand_dlsym.so and librand_malloc.so: blocks that the dynamic linker asked for while the
 * library was looking up its next allocator are blocks like any other to the program.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEPT = 6, KEPT_SIZE = 48 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rand_dlsym_test: line %d: %s does not hold\n", __LINE__, #condition); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main(void)
{
    void *self = dlopen(NULL, RTLD_NOW);
    char **blocks = dlsym(self, "kept_blocks");
    int *calls = dlsym(self, "kept_calls");

    CHECK(blocks != NULL && calls != NULL);
    CHECK(*calls > 2); /* the library's own look-ups went through it */
    for (int i = 0; i < KEPT; i++) {
        CHECK(blocks[i] != NULL);
        CHECK(malloc_usable_size(blocks[i]) >= KEPT_SIZE);
        for (int at = 0; at < KEPT_SIZE; at++)
            CHECK(blocks[i][at] == 'a' + i);
    }
    /* Half are freed as they are, half grow, shrink or move first. */
    for (int i = 0; i < KEPT; i++) {
        char *block = blocks[i];
        if (i % 2 == 0) {
            block = realloc(block, i == 0 ? 5000 : 10);
            CHECK(block != NULL);
            CHECK(malloc_usable_size(block) >= (size_t)(i == 0 ? 5000 : 10));
            for (int at = 0; at < 10; at++)
                CHECK(block[at] == 'a' + i);
        }
        free(block);
    }
    free(malloc(100));
    return 0;
}
