/*
 * SPDX-License-Identifier: MIT
 *
 * Regions of libmplace_persist, with either log.
 */
#include "mplace_persist.h"
#include "store.h"

static void create_region(const char *path, enum persist_log log, uint64_t memory,
                          uint64_t log_size)
{
    if (persist_create(path, memory, log, log_size) != 0)
        store_fail("persist_create", persist_error());
}

static void *open_region(const char *path)
{
    struct persist_region *region = persist_open(path);

    if (region == NULL)
        store_fail("persist_open", persist_error());
    return region;
}

static void close_region(void *file)
{
    if (persist_close(file) != 0)
        store_fail("persist_close", persist_error());
}

static char *base(void *file)
{
    return persist_base(file);
}

static uint64_t root(void *file)
{
    return persist_root(file);
}

static const char *medium(void *file)
{
    return persist_medium(file);
}

static void flush(void *file)
{
    if (persist_flush(file) != 0)
        store_fail("persist_flush", persist_error());
}

static void statistics(void *file, struct persist_statistics *counts)
{
    persist_statistics(file, counts, sizeof *counts);
}

static void begin(struct session *session)
{
    session->tx = persist_begin(session->file);
    if (session->tx == NULL)
        store_fail("persist_begin", persist_error());
}

static void commit(struct session *session, bool deferred)
{
    if ((deferred ? persist_commit_deferred(session->tx) : persist_commit(session->tx)) != 0)
        store_fail("persist_commit", persist_error());
    session->tx = NULL;
}

static uint64_t alloc_block(struct session *session, uint64_t size)
{
    uint64_t block = persist_alloc(session->tx, size);

    if (block == 0)
        store_fail("persist_alloc", persist_error());
    return block;
}

static void free_block(struct session *session, uint64_t block)
{
    if (persist_free(session->tx, block) != 0)
        store_fail("persist_free", persist_error());
}

static void write_bytes(struct session *session, void *destination, const void *source, size_t size)
{
    if (persist_write(session->tx, destination, source, size) != 0)
        store_fail("persist_write", persist_error());
}

static void set_root(struct session *session, uint64_t block)
{
    if (persist_set_root(session->tx, block) != 0)
        store_fail("persist_set_root", persist_error());
}

const struct backend backend_persist = {
    .create = create_region,
    .open = open_region,
    .close = close_region,
    .base = base,
    .root = root,
    .medium = medium,
    .flush = flush,
    .statistics = statistics,
    .begin = begin,
    .commit = commit,
    .alloc = alloc_block,
    .free = free_block,
    .write = write_bytes,
    .set_root = set_root,
};
