/*
 * SPDX-License-Identifier: MIT
 *
 * Pools of Intel's libpmemobj, as the peer: an undo log. What a transaction is about to write is
 * copied to the log first (pmemobj_tx_add_range_direct), and flushed in its place at commit. Every
 * commit is durable. The pool's root object is the offset of the block that leads to the rest.
 *
 * The library is loaded when it is asked for: its constructors allocate, and the runs without it
 * are to begin with a fresh heap.
 */
#include "store.h"

#include <dlfcn.h>
#include <libpmem.h>
#include <libpmemobj.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>

#define FUNCTIONS(EACH)                                                                            \
    EACH(pmem_is_pmem)                                                                             \
    EACH(pmemobj_create)                                                                           \
    EACH(pmemobj_open)                                                                             \
    EACH(pmemobj_close)                                                                            \
    EACH(pmemobj_root)                                                                             \
    EACH(pmemobj_oid)                                                                              \
    EACH(pmemobj_errormsg)                                                                         \
    EACH(pmemobj_tx_begin)                                                                         \
    EACH(pmemobj_tx_commit)                                                                        \
    EACH(pmemobj_tx_end)                                                                           \
    EACH(pmemobj_tx_alloc)                                                                         \
    EACH(pmemobj_tx_free)                                                                          \
    EACH(pmemobj_tx_add_range_direct)

static struct {
#define MEMBER(function) __typeof__(&function) function;
    FUNCTIONS(MEMBER)
} lib;

static const char layout[] = "persist_bench";

/* On tmpfs it is told to flush, as libmplace_persist does there; the user's setting counts. */
static void load(const char *path)
{
    struct statfs place;
    char folder[4096];
    void *library;

    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (statfs(folder, &place) == 0 && place.f_type == TMPFS_MAGIC)
        setenv("PMEM_IS_PMEM_FORCE", "1", 0);
    library = dlopen("libpmemobj.so.1", RTLD_NOW);
    if (library == NULL)
        store_fail("libpmemobj", dlerror());
#define LOOK_UP(function)                                                                          \
    if ((*(void **)&lib.function = dlsym(library, #function)) == NULL)                             \
        store_fail("libpmemobj", dlerror());
    FUNCTIONS(LOOK_UP)
}

/* The log is in the pool, in lanes and where they overflow in blocks. */
static void create_pool(const char *path, enum persist_log log, uint64_t memory, uint64_t log_size)
{
    PMEMobjpool *pool;

    (void)log;
    (void)log_size;
    load(path);
    pool = lib.pmemobj_create(path, layout, memory + PMEMOBJ_MIN_POOL, 0600);
    if (pool == NULL)
        store_fail("pmemobj_create", lib.pmemobj_errormsg());
    lib.pmemobj_close(pool);
}

static void *open_pool(const char *path)
{
    PMEMobjpool *pool = lib.pmemobj_open(path, layout);

    if (pool == NULL)
        store_fail("pmemobj_open", lib.pmemobj_errormsg());
    return pool;
}

static void close_pool(void *file)
{
    lib.pmemobj_close(file);
}

static char *base(void *file)
{
    return file;
}

static uint64_t *root_object(void *file)
{
    PMEMoid root = lib.pmemobj_root(file, sizeof(uint64_t));

    if (OID_IS_NULL(root))
        store_fail("pmemobj_root", lib.pmemobj_errormsg());
    return (uint64_t *)(base(file) + root.off);
}

static uint64_t root(void *file)
{
    return *root_object(file);
}

static const char *medium(void *file)
{
    return lib.pmem_is_pmem(file, PMEMOBJ_MIN_POOL) ? "libpmem, flushes" : "libpmem, msync";
}

static void flush(void *file)
{
    (void)file;
}

static void begin(struct session *session)
{
    if (lib.pmemobj_tx_begin(session->file, NULL, TX_PARAM_NONE) != 0)
        store_fail("pmemobj_tx_begin", lib.pmemobj_errormsg());
}

static void commit(struct session *session, bool deferred)
{
    (void)session;
    (void)deferred;
    lib.pmemobj_tx_commit();
    if (lib.pmemobj_tx_end() != 0)
        store_fail("pmemobj_tx_end", lib.pmemobj_errormsg());
}

static uint64_t alloc_block(struct session *session, uint64_t size)
{
    PMEMoid block = lib.pmemobj_tx_alloc(size, 0);

    (void)session;
    if (OID_IS_NULL(block))
        store_fail("pmemobj_tx_alloc", lib.pmemobj_errormsg());
    return block.off;
}

static void free_block(struct session *session, uint64_t block)
{
    if (lib.pmemobj_tx_free(lib.pmemobj_oid(store_at(session, block))) != 0)
        store_fail("pmemobj_tx_free", lib.pmemobj_errormsg());
}

static void write_bytes(struct session *session, void *destination, const void *source, size_t size)
{
    (void)session;
    if (size == 0)
        return;
    if (lib.pmemobj_tx_add_range_direct(destination, size) != 0)
        store_fail("pmemobj_tx_add_range_direct", lib.pmemobj_errormsg());
    memmove(destination, source, size);
}

static void set_root(struct session *session, uint64_t block)
{
    store_u64(session, root_object(session->file), block);
}

const struct backend backend_libpmemobj = {
    .create = create_pool,
    .open = open_pool,
    .close = close_pool,
    .base = base,
    .root = root,
    .medium = medium,
    .flush = flush,
    .begin = begin,
    .commit = commit,
    .alloc = alloc_block,
    .free = free_block,
    .write = write_bytes,
    .set_root = set_root,
};
