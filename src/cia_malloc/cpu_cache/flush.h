/*
 * SPDX-License-Identifier: MIT
 *
 * Returns blocks to the sub-heaps that own them: single ones, batches, whole magazines. Those of
 * other sub-heaps than the locked one go to the owner's inbox: heap/remote_free/inbox.c.
 * magazine_overflow.c decides whether a full magazine is flushed; housekeeping flushes all now and
 * then. locked: a sub-heap whose lock the caller has, or NULL.
 */
#ifndef MPLACE_CIA_FLUSH_H
#define MPLACE_CIA_FLUSH_H

#include "cia_malloc/cpu_cache/magazine_access.h"
#include "cia_malloc/heap/block.h"

struct subheap;

/* Returns one block, past the magazines. The second locks this CPU's sub-heap if it can. */
void flush_block(struct subheap *locked, const struct block *block);
void flush_block_here(const struct block *block);

/* Returns blocks of a class that were cached; those of one span that follow each other, as they do
   when they were allocated and freed in a row, go together. */
void flush_blocks(struct subheap *locked, unsigned size_class, char *const *blocks, uint32_t count);

/* Returns the blocks of a loaded magazine. False: there was none. */
bool flush_loaded(const struct magazine_access *access, struct subheap *locked);

/* Flushes the magazines of the sub-heap's CPU four times in a decay time, but not more often than
   every 100 ms. For a caller without its lock; now: of decay_clock. True if it did. */
bool flush_if_due(struct subheap *heap, uint64_t now);

/* Flushes the magazines of all CPUs that can be had. */
void flush_all(void);

#endif
