/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of the classes, where the fast paths of allocator.h have nothing to give or no place to
 * put: boxes, magazines under locks, loading and unloading, and classes that have
 * no magazine.
 */
#ifndef MPLACE_CIA_SUPPLY_H
#define MPLACE_CIA_SUPPLY_H

#include "cia_malloc/block.h"

/* A block of the class, with MAGAZINE_UNTOUCHED; 0 when out of memory. */
uintptr_t supply_block(unsigned size_class);

/*
 * By sequences: finds a place for a block that begins at the address, on a page of that info, in
 * this CPU's magazine, whose level did not take it. False: there is none.
 */
bool supply_put_elsewhere(ptrdiff_t area, const struct page_info *info, void *address);

/*
 * Where magazines are under the sub-heap's lock: the newest block of the level, or a place there.
 * 0, or false, when there is none, or the lock is taken. An exchange each, and a release.
 */
uintptr_t supply_pop_under_lock(unsigned size_class);
bool supply_push_under_lock(const struct page_info *info, void *address);

/* Takes back such a block where sequences are not used or did not find a place. */
void supply_take_back(const struct page_info *info, void *address);

/* Puts a block back where it belongs, past the magazines. */
void supply_give_back(const struct block *block);

/* Called now and then off the fast paths: housekeeping.h, and magazines that are not used. */
void supply_housekeeping(void);

/* Unloads the magazines of all CPUs, as far as they can be had. */
void supply_empty_magazines(void);

#endif
