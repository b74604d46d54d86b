/*
 * SPDX-License-Identifier: MIT
 *
 * More than the kernel will ever commit: with /proc/sys/vm/overcommit_memory at 2 that is beyond
 * its CommitLimit, at 0 beyond all memory and swap. The setting is the machine's and is only read;
 * where it is 1 there is no such amount, and nothing to test (exit 77).
 *
 * Every way of asking for it is ENOMEM at once, what was allocated before is whole, and whatever
 * fits is had as before.
 */
#include "expect.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOT_HERE = 77 };

static char *read_file(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

    if (file != NULL)
        fclose(file);
    text[length] = '\0';
    return text;
}

/* In bytes; 0 where there is no such line. */
static size_t memory(const char *name)
{
    const char *line = strstr(read_file("/proc/meminfo"), name);
    size_t kib = 0;

    if (line != NULL && sscanf(line + strlen(name), " %zu", &kib) != 1)
        kib = 0;
    return kib << 10;
}

static size_t never_committed(int mode)
{
    size_t most = mode == 2 ? memory("CommitLimit:") : memory("MemTotal:") + memory("SwapTotal:");

    return most + ((size_t)1 << 30);
}

static bool kernel_refuses(size_t bytes)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapped != MAP_FAILED)
        munmap(mapped, bytes);
    return mapped == MAP_FAILED;
}

static void what_is_never_committed_is_enomem_and_changes_nothing(size_t much)
{
    static const size_t sizes[] = {40, 5000, 70000, 3 << 20};
    enum { SIZES = sizeof sizes / sizeof sizes[0], ROUNDS = 20 };
    char *blocks[SIZES];
    void *aligned = NULL;

    for (int s = 0; s < SIZES; s++) {
        EXPECT((blocks[s] = malloc(sizes[s])) != NULL);
        fill_pattern(blocks[s], 0, sizes[s], (uint64_t)s);
    }
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT_ENOMEM(malloc(much));
        EXPECT_ENOMEM(calloc(1, much));
        EXPECT_ENOMEM(aligned_alloc(4096, much));
        EXPECT(posix_memalign(&aligned, 64, much) == ENOMEM && aligned == NULL);
        for (int s = 0; s < SIZES; s++)
            EXPECT_ENOMEM(realloc(blocks[s], much));
        void *more = malloc(1 << 20);
        EXPECT(more != NULL);
        free(more);
    }
    for (int s = 0; s < SIZES; s++) {
        EXPECT(holds_pattern(blocks[s], 0, sizes[s], (uint64_t)s));
        free(blocks[s]);
    }
}

int main(void)
{
    int mode = -1;

    if (sscanf(read_file("/proc/sys/vm/overcommit_memory"), "%d", &mode) != 1)
        mode = -1;
    size_t much = never_committed(mode);
    if ((mode != 0 && mode != 2) || !kernel_refuses(much)) {
        printf("skipped: this kernel commits anything (overcommit_memory is %d)\n", mode);
        return NOT_HERE;
    }
    what_is_never_committed_is_enomem_and_changes_nothing(much);
    return 0;
}
