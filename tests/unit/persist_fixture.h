/*
 * SPDX-License-Identifier: MIT
 *
 * A region in a file of its own for each test, in a folder of tmpfs if there is one.
 */
#ifndef TESTS_UNIT_PERSIST_FIXTURE_H
#define TESTS_UNIT_PERSIST_FIXTURE_H

#include "mplace_persist.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY = 1 << 20, LOG = 64 << 10 };

static char folder[64], path[96];

static inline void setup(void)
{
    snprintf(folder, sizeof folder, "%s/mplace-persist.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/region", folder);
}

static inline void teardown(void)
{
    unlink(path);
    rmdir(folder);
}

static inline struct persist_region *open_region(void)
{
    struct persist_region *region = persist_open(path);

    ck_assert_msg(region != NULL, "%s", persist_error());
    return region;
}

static inline struct persist_region *create_region(int log)
{
    ck_assert_msg(persist_create(path, MEMORY, (enum persist_log)log, LOG) == 0, "%s",
                  persist_error());
    return open_region();
}

static inline struct persist_region *reopen(struct persist_region *region)
{
    ck_assert_int_eq(persist_close(region), 0);
    return open_region();
}

static inline void *at(struct persist_region *region, uint64_t offset)
{
    return (char *)persist_base(region) + offset;
}

static inline struct persist_statistics counts_of(struct persist_region *region)
{
    struct persist_statistics counts;

    persist_statistics(region, &counts, sizeof counts);
    return counts;
}

/* A block of size bytes, each of them value, in a transaction of its own; it is the root. */
static inline uint64_t commit_block(struct persist_region *region, size_t size, int value)
{
    struct persist_tx *tx = persist_begin(region);
    uint64_t block = persist_alloc(tx, size);
    void *bytes = malloc(size);

    memset(bytes, value, size);
    ck_assert_uint_ne(block, 0);
    ck_assert_int_eq(persist_write(tx, at(region, block), bytes, size), 0);
    ck_assert_int_eq(persist_set_root(tx, block), 0);
    ck_assert_int_eq(persist_commit(tx), 0);
    free(bytes);
    return block;
}

#endif
