/*
 * SPDX-License-Identifier: MIT
 *
 * Mappings of freed blocks, kept for other blocks: a program whose long blocks come and go would
 * have the kernel zero all their pages each time. No more bytes are kept than are in use, within
 * bounds, and for the decay time.
 *
 * No lock. Each slot is empty or has one mapping, which belongs to whoever takes it out of the slot
 * by compare-and-swap; so the child of a fork finds every slot in order, and misses the mappings
 * that the parent's other threads had in hand. A search reads the records of mappings that other
 * threads may take and change meanwhile: records are never given back, and what is read only says
 * which mapping to take, not what it is once it is taken.
 */
#ifndef MPLACE_CIA_HUGE_CACHE_H
#define MPLACE_CIA_HUGE_CACHE_H

#include "cia_malloc/large/huge_mapping.h"

enum { HUGE_CACHE_SLOTS = 64 };

/* NULL: an empty slot. Changed in huge_cache.c alone. */
extern _Atomic(struct huge *) huge_cache[HUGE_CACHE_SLOTS];

/* Keeps a mapping that has no block any more, joined with those beside it; older ones may have to
   go for it. False: it is to be given back. now: of decay_clock. */
bool huge_keep(struct huge *huge, uint64_t now);

/* Puts a kept mapping that was taken back among the others, as old as it is; gives it back if there
   is no room. */
void huge_keep_on(struct huge *huge);

/* No more than that: into an empty slot. False: there is none. */
bool huge_cache_put(struct huge *huge);

/*
 * Joins a mapping with kept ones of its node beside it, so that what blocks of several lengths
 * leave serves longer ones. Its age becomes that of its pages on the average.
 */
void huge_join_neighbours(struct huge *huge);

/*
 * Takes a mapping of the memory node that has so many bytes from an address of that alignment (a
 * power of two, a page at least) on: the shortest one. NULL when there is none. Shorter ones are
 * not grown: see huge_resize.
 */
struct huge *huge_cache_take(size_t bytes, size_t alignment, uint8_t node);

/* The mapping that has been kept for longest, if that is since this time or longer. */
struct huge *huge_cache_take_oldest(uint64_t time);

/* Gives back the mappings that are kept: all, and returns how many bytes; or those that were not
   wanted for the decay time, a few a call. */
size_t huge_give_back_all(void);
void huge_give_back_old(uint64_t now);

/* How many there are, and bytes of all of them; roughly while others put and take. */
uint32_t huge_cache_count(void);
size_t huge_cache_bytes(void);

#endif
