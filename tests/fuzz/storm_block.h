/*
 * SPDX-License-Identifier: MIT
 *
 * The oracle of the storm: blocks that say themselves what they hold, and a shadow of the address
 * space that knows where live blocks begin. Both can be asked by any thread, in a child of fork and
 * in a signal handler; neither allocates.
 *
 * A block is {size | tag << 32, seal} and a pattern that the seal begins; the seal depends on the
 * address, the size and the tag, so a block that was moved, handed out twice or written to by
 * somebody else does not hold.
 */
#ifndef MPLACE_STORM_BLOCK_H
#define MPLACE_STORM_BLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { STORM_BLOCK_LEAST = 16 };

struct storm_block {
    uint64_t size_and_tag;
    uint64_t seal;
};

/* Once. */
void storm_shadow_open(void);

/* A block that the allocator has just handed out, of at least STORM_BLOCK_LEAST bytes. */
struct storm_block *storm_block_make(void *memory, size_t size, size_t alignment);

/* The same for less than that: only where it begins is known of it. */
void storm_crumb_arrives(const void *memory);
void storm_crumb_leaves(const void *memory);

void storm_block_check(const struct storm_block *block);

/* Checks it, and forgets that it is live; free or realloc follows. */
void storm_block_leave(const struct storm_block *block);

size_t storm_block_size(const struct storm_block *block);

/* Whether memory, where realloc has put the block that had this seal, begins with what it held. */
void storm_block_check_moved(const void *memory, struct storm_block old, size_t bytes);

/* One line with the seed, then abort(). */
_Noreturn void storm_fail(const void *block, const char *wrong);
extern uint64_t storm_seed;

#endif
