/*
 * SPDX-License-Identifier: MIT
 *
 * Mappings of freed blocks, kept for other blocks: a program whose long blocks come and go would
 * have the kernel zero all their pages each time. How many may be kept and for how long is
 * large.c's affair.
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

/*
 * The greatest length that a kept mapping may have for a block that needs so much: a little more
 * costs pages that may be populated, and cutting it off costs pages that have to be zeroed again.
 */
static inline size_t huge_cache_longest_for(size_t bytes)
{
    return bytes + bytes / 8;
}

/* Keeps a mapping that has no block any more. False: there is no empty slot. */
bool huge_cache_put(struct huge *huge, uint64_t now);

/*
 * The mapping whose length is nearest to so many bytes, a page multiple; the caller may have to
 * change it. NULL when there is none worth it.
 */
struct huge *huge_cache_take(size_t bytes);

/* The mapping that was put first, if that was at this time or before. */
struct huge *huge_cache_take_oldest(uint64_t time);

/* Bytes of all of them; roughly while others put and take. */
size_t huge_cache_bytes(void);

#endif
