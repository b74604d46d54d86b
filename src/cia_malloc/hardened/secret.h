/*
 * SPDX-License-Identifier: MIT
 *
 * What a hardened process's canaries and the order of its blocks come from: keys that the kernel
 * draws, and a keyed function of which no number of results tells another one.
 */
#ifndef MPLACE_CIA_SECRET_H
#define MPLACE_CIA_SECRET_H

#include "cia_malloc/heap/subheap.h"

/* What stands behind a block of the program, 8 bytes again and again: none of them is 0, so that a
   string's end is seen among them. The child of a fork has the same, for it has the blocks. */
uint64_t secret_canary(const void *block);

/* In [0, bound), all equally likely; bound: 64 at most. The caller holds the sub-heap's lock. The
   child of a fork draws others. */
uint32_t secret_draw(struct subheap *heap, uint32_t bound);

#endif
