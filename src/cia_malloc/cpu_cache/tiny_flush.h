/*
 * SPDX-License-Identifier: MIT
 *
 * Tiny blocks on their way from magazines to the sub-heaps that own them. locked: a sub-heap whose
 * lock the caller has, or NULL.
 */
#ifndef MPLACE_CIA_TINY_FLUSH_H
#define MPLACE_CIA_TINY_FLUSH_H

#include "cia_malloc/cpu_cache/magazine_access.h"
#include "cia_malloc/heap/subheap.h"

/* Returns blocks of one word of a page's bits to their owner. bytes: how many they are. */
void tiny_flush_place(struct subheap *locked, const struct tiny_place *blocks, size_t bytes);

/* Returns blocks of any pages; those that follow each other in a word go together. */
void tiny_flush_blocks(struct subheap *locked, unsigned tiny, char *const *blocks, uint32_t count);

/* Empties a magazine of tiny blocks. */
void tiny_flush_magazine(const struct magazine_access *access, unsigned tiny,
                         struct subheap *locked);

#endif
