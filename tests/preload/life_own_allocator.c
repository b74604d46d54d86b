/*
 * SPDX-License-Identifier: MIT
 *
 * A program that brings malloc, free, calloc and realloc of its own, as one that was linked with an
 * allocator does, and not what came into libc later: that works on the program's blocks all the
 * same.
 */
#include "expect.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { ARENA_BYTES = 32 << 20 };

static _Alignas(64) char arena[ARENA_BYTES];
static size_t used, freed;

/* Not looked through by the compiler, which would find that these are no blocks. */
#if __has_attribute(noipa)
#define OPAQUE __attribute__((noipa))
#else
#define OPAQUE __attribute__((noinline, optnone))
#endif

OPAQUE void *malloc(size_t bytes)
{
    size_t *block = (size_t *)(void *)(arena + used);

    bytes = (bytes + 31) & ~(size_t)15;
    if (bytes > ARENA_BYTES - used)
        return NULL;
    used += bytes;
    block[0] = bytes - 16;
    return block + 2;
}

void free(void *block)
{
    if (block == NULL)
        return;
    EXPECT((char *)block > arena && (char *)block < arena + used);
    freed++;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* never used twice */
}

OPAQUE void *realloc(void *block, size_t bytes)
{
    char *moved = malloc(bytes);

    if (moved != NULL && block != NULL) {
        size_t old = ((size_t *)block)[-2];

        memcpy(moved, block, old < bytes ? old : bytes);
        freed++;
    }
    return moved;
}

int main(void)
{
    volatile size_t too_many = SIZE_MAX / 2;
    int *numbers = malloc(10 * sizeof *numbers);
    void (*free_sized)(void *, size_t);

    numbers[9] = 9;
    numbers = reallocarray(numbers, 1000, sizeof *numbers);
    EXPECT(numbers != NULL && numbers[9] == 9);
    numbers = reallocarray(numbers, 10, sizeof *numbers);
    EXPECT(numbers != NULL && numbers[9] == 9);
    EXPECT(reallocarray(numbers, too_many, sizeof *numbers) == NULL);
    *(void **)&free_sized = dlsym(RTLD_DEFAULT, "free_sized");
    if (free_sized != NULL) {
        size_t before = freed;

        free_sized(numbers, 10 * sizeof *numbers);
        EXPECT(freed == before + 1);
    } else {
        free(numbers);
    }
    EXPECT((char *)reallocarray(NULL, 3, 3) < arena + used);
    return 0;
}
