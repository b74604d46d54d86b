/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of the classes, where the fast paths of allocator.h have nothing to give or no place to
 * put: second levels, magazines under locks, loading and unloading, and classes that have no
 * magazine.
 */
#ifndef MPLACE_CIA_SUPPLY_H
#define MPLACE_CIA_SUPPLY_H

#include "cia_malloc/block.h"

/* A block of the class, with MAGAZINE_UNTOUCHED; 0 when out of memory. */
uintptr_t supply_block(unsigned size_class);

/*
 * Takes back the block of a class that begins at the address; its first place in the magazine is
 * taken, or there is no magazine.
 */
void supply_take_back(struct chunk *chunk, unsigned size_class, void *address);

/* Puts a block back where it belongs, past the magazines. */
void supply_give_back(const struct block *block);

/* Unloads the magazines of all CPUs, as far as they can be had. */
void supply_empty_magazines(void);

#endif
