/*
 * SPDX-License-Identifier: MIT
 *
 * Mappings of freed blocks, kept for other blocks: a program whose long blocks come and go would
 * have the kernel zero all their pages each time. How many may be kept and for how long is
 * huge_keep.h's affair.
 *
 * No lock. Each slot is empty or has one mapping, which belongs to whoever takes it out of the slot
 * by compare-and-swap; so the child of a fork finds every slot in order, and misses the mappings
 * that the parent's other threads had in hand. Records of mappings are never given back, so a
 * record that another thread takes meanwhile may still be looked at; what is in it is looked at
 * only by whoever took it.
 */
#ifndef MPLACE_CIA_HUGE_CACHE_H
#define MPLACE_CIA_HUGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct huge;

enum { HUGE_CACHE_SLOTS = 64 };

/* Keeps a mapping that has no block any more. False: there is no empty slot. */
bool huge_cache_put(struct huge *huge);

/*
 * A mapping of the memory node for a block that needs so much, from an address of that alignment (a
 * power of two, a page at least) on: the shortest one that is long enough, else the longest; the
 * caller cuts it or lets it grow. NULL when there is none worth it.
 */
struct huge *huge_cache_take(size_t bytes, size_t alignment, uint8_t node);

/* A mapping of the same node that ends where this one begins or begins where it ends, or NULL. */
struct huge *huge_cache_take_beside(const struct huge *huge);

/* The mapping that has been kept for longest, if that is since this time or longer. */
struct huge *huge_cache_take_oldest(uint64_t time);

/* How many there are, and bytes of all of them; roughly while others put and take. */
uint32_t huge_cache_count(void);
size_t huge_cache_bytes(void);

/* Where they are kept: so many slots so far apart, and in each so far from its beginning. */
struct huge_cache_at {
    uint64_t first, count, stride, mapping_offset, bytes_offset;
};
struct huge_cache_at huge_cache_at(void);

#endif
