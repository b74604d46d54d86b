/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions: the functions of mplace_persist.h that begin, fill and end them.
 *
 * A transaction writes to the view at once and keeps what was there (write_set.h), so abort puts it
 * back and commit finds the new bytes in the view. What it does to the table of pages waits for the
 * commit: there, under the commit lock, the table holds what committed transactions made of it, and
 * nothing that others have only promised to themselves.
 */
#include "mplace_persist.h"

#include "persist/bytes.h"
#include "persist/error.h"
#include "persist/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { LEAST_PENDING = 8 };

static int failed(int error)
{
    return error_say(EIO, "the region could not be written (%s): close it and open it again",
                     strerror(error));
}

/* 0, or EPERM: what the child writes to the log would be where its parent writes, and threads that
   it does not have may hold the locks. */
static int refuse_child(const struct persist_region *region)
{
    if (!region_is_of_parent(region))
        return 0;
    return error_say(EPERM, "the child of a fork has no transactions in its parent's region");
}

EXPORT struct persist_tx *persist_begin(struct persist_region *region)
{
    struct persist_tx *tx;
    int error = __atomic_load_n(&region->failed, __ATOMIC_RELAXED);

    if (error != 0) {
        errno = failed(error);
        return NULL;
    }
    error = refuse_child(region);
    if (error != 0) {
        errno = error;
        return NULL;
    }
    pthread_mutex_lock(&region->tx_lock);
    tx = region->free_txs;
    if (tx != NULL)
        region->free_txs = tx->next;
    else
        tx = calloc(1, sizeof *tx);
    region->open_txs += tx != NULL;
    pthread_mutex_unlock(&region->tx_lock);
    if (tx == NULL)
        errno = error_say(ENOMEM, "no memory for a transaction");
    else
        tx->region = region;
    return tx;
}

/* Gives the transaction back. */
static void end(struct persist_tx *tx, bool aborted)
{
    struct persist_region *region = tx->region;

    write_set_clear(&tx->writes);
    tx->pending_count = 0;
    pthread_mutex_lock(&region->tx_lock);
    tx->next = region->free_txs;
    region->free_txs = tx;
    region->open_txs--;
    region->aborted += aborted;
    pthread_mutex_unlock(&region->tx_lock);
}

/* Room for so many more lines and blocks, in the log and in memory. Each block that is allocated or
   freed changes a line of the table. */
static int reserve(struct persist_tx *tx, uint64_t lines, size_t blocks)
{
    uint64_t wanted = tx->writes.count + tx->pending_count + lines + blocks;
    size_t capacity = tx->pending_capacity == 0 ? LEAST_PENDING : 2 * tx->pending_capacity;
    struct pending_block *pending;
    int error = refuse_child(tx->region);

    if (error != 0)
        return error;
    if (wanted > log_greatest_transaction(&tx->region->log))
        return error_say(ENOSPC,
                         "the transaction does not fit the log, which takes %llu lines of 64 "
                         "B in a transaction",
                         (unsigned long long)log_greatest_transaction(&tx->region->log));
    if (!write_set_reserve(&tx->writes, wanted))
        return error_say(ENOMEM, "no memory for the transaction's lines");
    if (tx->pending_count + blocks > tx->pending_capacity) {
        pending = realloc(tx->pending, capacity * sizeof *pending);
        if (pending == NULL)
            return error_say(ENOMEM, "no memory for the transaction's blocks");
        tx->pending = pending;
        tx->pending_capacity = capacity;
    }
    return 0;
}

/* Writes to the view, where there is room for the lines. */
static void write_view(struct persist_tx *tx, uint64_t offset, const void *source, size_t size)
{
    uint8_t *view = tx->region->view;

    for (uint64_t at = offset; at < offset + size;) {
        unsigned first = (unsigned)(at % PERSIST_LINE);
        uint64_t left = offset + size - at, here = PERSIST_LINE - first;

        if (here > left)
            here = left;
        write_set_add(&tx->writes, at / PERSIST_LINE, bytes_mask(first, (unsigned)here), view);
        at += here;
    }
    memcpy(view + offset, source, size);
}

/* The lines of these bytes that the transaction has not written to yet. */
static uint64_t new_lines(const struct persist_tx *tx, uint64_t offset, size_t size)
{
    uint64_t last = (offset + size - 1) / PERSIST_LINE, count = 0;

    if (last - offset / PERSIST_LINE > log_greatest_transaction(&tx->region->log))
        return last; /* too many in any case */
    for (uint64_t line = offset / PERSIST_LINE; line <= last; line++)
        count += write_set_find(&tx->writes, line) == tx->writes.count;
    return count;
}

static int write_at(struct persist_tx *tx, uint64_t offset, const void *source, size_t size)
{
    int error = reserve(tx, new_lines(tx, offset, size), 0);

    if (error == 0)
        write_view(tx, offset, source, size);
    return error;
}

EXPORT int persist_write(struct persist_tx *tx, void *destination, const void *source, size_t size)
{
    const struct persist_region *region = tx->region;
    uint64_t offset = (uint64_t)((uintptr_t)destination - (uintptr_t)region->view);

    if (size == 0)
        return 0;
    if (offset < region->heap.pages_offset || offset > region->memory_bytes ||
        size > region->memory_bytes - offset)
        return error_say(EINVAL, "persist_write: not in the region's memory");
    return write_at(tx, offset, source, size);
}

EXPORT int persist_set_root(struct persist_tx *tx, uint64_t offset)
{
    const struct persist_region *region = tx->region;

    if (offset != 0 && (offset < region->heap.pages_offset || offset >= region->memory_bytes))
        return error_say(EINVAL, "persist_set_root: not in the region's memory");
    return write_at(tx, 0, &offset, sizeof offset);
}

EXPORT uint64_t persist_alloc(struct persist_tx *tx, uint64_t size)
{
    uint64_t block = 0;
    int error =
        size == 0 ? error_say(EINVAL, "persist_alloc: a block of 0 bytes") : reserve(tx, 0, 1);

    if (error == 0) {
        block = heap_promise(&tx->region->heap, size);
        if (block == 0)
            error = error_say(ENOSPC, "the region has no room for a block of %llu bytes",
                              (unsigned long long)size);
    }
    if (error != 0) {
        errno = error;
        return 0;
    }
    tx->pending[tx->pending_count++] = (struct pending_block){block, 1};
    return block;
}

/* Whether the transaction was promised the block, and has not freed it. */
static bool has_promise(const struct persist_tx *tx, uint64_t block)
{
    for (size_t i = tx->pending_count; i-- > 0;) {
        if (tx->pending[i].block == block)
            return tx->pending[i].allocated != 0;
    }
    return false;
}

EXPORT int persist_free(struct persist_tx *tx, uint64_t block)
{
    int error = reserve(tx, 0, 1);

    if (error != 0)
        return error;
    if (!heap_begin_free(&tx->region->heap, block) && !has_promise(tx, block))
        return error_say(EINVAL,
                         "persist_free: no block of a committed transaction or this one begins at "
                         "offset %llu, or it is being freed",
                         (unsigned long long)block);
    tx->pending[tx->pending_count++] = (struct pending_block){block, 0};
    return 0;
}

EXPORT void persist_abort(struct persist_tx *tx)
{
    struct heap *heap = &tx->region->heap;
    bool wrote = tx->writes.count + tx->pending_count > 0;

    if (region_is_of_parent(tx->region))
        return;
    write_set_undo(&tx->writes, tx->region->view);
    for (size_t i = tx->pending_count; i-- > 0;) {
        if (tx->pending[i].allocated)
            heap_break_promise(heap, tx->pending[i].block);
        else
            heap_keep(heap, tx->pending[i].block);
    }
    end(tx, wrote);
}

/* Changes the table of pages as the transaction says. There is room in its write set. */
static void write_table(struct persist_tx *tx)
{
    uint8_t *view = tx->region->view;

    for (size_t i = 0; i < tx->pending_count; i++) {
        struct page_entry entry, *target = heap_entry_of(&tx->region->heap, tx->pending[i].block,
                                                         tx->pending[i].allocated, &entry);

        write_view(tx, (uint64_t)((uint8_t *)target - view), &entry, sizeof entry);
    }
}

static int commit(struct persist_tx *tx, bool deferred)
{
    struct persist_region *region = tx->region;
    int error = refuse_child(region);

    if (error != 0)
        return error;
    if (tx->writes.count + tx->pending_count > 0) {
        pthread_mutex_lock(&region->commit_lock);
        error = region->failed;
        if (error == 0) {
            write_table(tx);
            error = log_commit(&region->log, &tx->writes, region->view, deferred);
        }
        if (error != 0)
            __atomic_store_n(&region->failed, error, __ATOMIC_RELAXED);
        /* Whoever allocates a block that is freed here commits after this transaction. */
        for (size_t i = 0; i < tx->pending_count && error == 0; i++) {
            if (tx->pending[i].allocated)
                heap_keep(&region->heap, tx->pending[i].block);
            else
                heap_end_free(&region->heap, tx->pending[i].block);
        }
        pthread_mutex_unlock(&region->commit_lock);
    } else if (!deferred) {
        error = persist_flush(region);
    }
    end(tx, false);
    return error == 0 ? 0 : failed(error);
}

EXPORT int persist_commit(struct persist_tx *tx)
{
    return commit(tx, false);
}

EXPORT int persist_commit_deferred(struct persist_tx *tx)
{
    return commit(tx, true);
}

EXPORT int persist_flush(struct persist_region *region)
{
    int error = refuse_child(region);

    if (error != 0)
        return error;
    pthread_mutex_lock(&region->commit_lock);
    error = region->failed;
    if (error == 0)
        error = log_flush(&region->log);
    if (error != 0)
        __atomic_store_n(&region->failed, error, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&region->commit_lock);
    return error == 0 ? 0 : failed(error);
}

EXPORT void *persist_base(const struct persist_region *region)
{
    return region->view;
}

EXPORT uint64_t persist_root(const struct persist_region *region)
{
    uint64_t root;

    memcpy(&root, region->view, sizeof root);
    return root;
}

EXPORT void persist_statistics(struct persist_region *region, struct persist_statistics *statistics,
                               size_t size)
{
    struct persist_statistics all;
    bool locks = !region_is_of_parent(region);

    if (locks) {
        pthread_mutex_lock(&region->commit_lock);
        pthread_mutex_lock(&region->tx_lock);
    }
    all = (struct persist_statistics){.committed = region->log.committed,
                                      .blocks = region->log.blocks,
                                      .flushes = region->persistence.flushes,
                                      .fences = region->persistence.fences,
                                      .checkpoints = region->log.checkpoints,
                                      .recovered = region->recovered,
                                      .aborted = region->aborted};
    if (locks) {
        pthread_mutex_unlock(&region->tx_lock);
        pthread_mutex_unlock(&region->commit_lock);
    }
    memcpy(statistics, &all, size < sizeof all ? size : sizeof all);
}
