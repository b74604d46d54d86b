/*
 * SPDX-License-Identifier: MIT
 *
 * Remote frees: blocks freed by threads that do not hold the lock of the sub-heap that owns them.
 * They go to the owner's inbox (inbox.h), which the holder of the lock drains: in malloc's
 * slow path, in housekeeping, and, when the inbox is full, in the thread that filled it, for the
 * owner may never come back to its CPU.
 */
#ifndef MPLACE_CIA_REMOTE_FREE_H
#define MPLACE_CIA_REMOTE_FREE_H

#include "cia_malloc/heap/subheap.h"

/* Without the lock: gives blocks of a span back to the sub-heap that owns the chunk. The process
   ends if one of them is free already. */
void remote_free_blocks(struct chunk *chunk, uint32_t span_index, uint64_t bits);

/*
 * After some of those: counts their bytes, all of this sub-heap. Drains it when its inbox is full.
 * locked: another sub-heap whose lock the caller holds, or NULL; with one, the drain waits until
 * that lock is given up.
 */
void remote_free_count(struct subheap *heap, size_t bytes, struct subheap *locked);

#endif
