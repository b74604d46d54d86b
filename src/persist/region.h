/*
 * SPDX-License-Identifier: MIT
 *
 * A region in memory: from the bytes of its file, wherever they are, to one that transactions work
 * on. file.c brings the file; the tests of the power cut bring an image of one.
 *
 * Locks: commit_lock is held over a commit, and guards log, persistence, failed, and the root and
 * the table of pages in the view. Then heap.lock. tx_lock guards the free list and open alone.
 */
#ifndef MPLACE_PERSIST_REGION_H
#define MPLACE_PERSIST_REGION_H

#include "mplace_persist.h"
#include "persist/heap.h"
#include "persist/log.h"
#include "persist/persistence.h"
#include "persist/write_set.h"

#include <pthread.h>
#include <stdint.h>

/* A block that a transaction allocates or frees, when it commits. */
struct pending_block {
    uint64_t block;
    uint64_t allocated; /* 1, or 0: freed */
};

struct persist_tx {
    struct persist_region *region;
    struct persist_tx *next; /* in the region's free list */
    struct write_set writes;
    struct pending_block *pending; /* in the order of the calls */
    size_t pending_count, pending_capacity;
};

struct persist_region {
    struct persistence persistence;
    struct log log;
    struct heap heap;
    uint8_t *view; /* the memory area, private */
    uint64_t memory_bytes;
    pthread_mutex_t commit_lock;
    int failed; /* what msync failed with */
    pthread_mutex_t tx_lock;
    struct persist_tx *free_txs;
    uint64_t open_txs, aborted, recovered;
    /* Of file.c: */
    int file;
    const char *medium;
    volatile char *alive; /* a page that is zeroed in the child of a fork */
};

/* Whether this is the child of a fork of the process that opened it. */
static inline bool region_is_of_parent(const struct persist_region *region)
{
    return region->alive != NULL && *region->alive == 0;
}

/* Lengths of a region's parts. */
struct region_sizes {
    uint64_t groups, pages, memory_offset, memory_bytes, file_bytes;
};
struct region_sizes region_sizes(uint64_t memory_bytes, uint64_t log_bytes);

/* Writes header and heads of a new region to zeroed bytes, durably. 0, or what msync failed with.
 */
int region_format(struct persistence *persistence, const struct region_sizes *sizes,
                  enum persist_log log, uint64_t seed);

/* Whether the bytes at base are a whole region of this version, of a file of so many bytes. 0, or
   EMEDIUMTYPE, ENOTSUP, EBADMSG. At least a page is there. */
int region_check(const uint8_t *base, uint64_t file_bytes);

/* Recovers what region->persistence has, whose header is sound. 0, EBADMSG, ENOMEM, or what msync
   failed with. */
int region_recover(struct persist_region *region);

/* Begins to work on view, the memory area after recovery. 0, EBADMSG or ENOMEM. */
int region_start(struct persist_region *region, uint8_t *view);

/* Ends what the two above began; writes nothing. */
void region_end(struct persist_region *region);

#endif
