/*
 * SPDX-License-Identifier: MIT
 *
 * A program that keeps a number in a region: a child commits it and ends without closing.
 */
#include <mplace_persist.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(const char *path)
{
    struct persist_region *region = persist_open(path);
    struct persist_tx *tx = region == NULL ? NULL : persist_begin(region);
    uint64_t block = tx == NULL ? 0 : persist_alloc(tx, sizeof(int));
    int seven = 7;

    return block == 0 ||
           persist_write(tx, (char *)persist_base(region) + block, &seven, sizeof seven) != 0 ||
           persist_set_root(tx, block) != 0 || persist_commit(tx) != 0;
}

int main(int argc, char **argv)
{
    struct persist_statistics counts;
    struct persist_region *region;
    int status;

    if (argc != 2 ||
        persist_create(argv[1], PERSIST_LEAST_MEMORY, PERSIST_LOG_EAGER, PERSIST_LEAST_LOG) != 0) {
        puts(persist_error());
        return 1;
    }
    if (fork() == 0)
        _exit(child(argv[1]));
    if (wait(&status) < 0 || status != 0)
        return 1;
    region = persist_open(argv[1]);
    if (region == NULL)
        return 1;
    persist_statistics(region, &counts, sizeof counts);
    printf("%d after %d recovered\n", *(int *)((char *)persist_base(region) + persist_root(region)),
           (int)counts.recovered);
    return persist_close(region);
}
