/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks of moved chunks that were freed and are kept as they are for the next block of their bank
 * and length: to move a page costs microseconds. At most a quarter of the pool is kept, the
 * youngest ones, and none when their bank has no chunk left.
 *
 * Every function is called with arena.lock held.
 */
#ifndef MPLACE_BANK_KEPT_H
#define MPLACE_BANK_KEPT_H

#include "bank_malloc/memory/together.h"

/* Keeps the block that begins at that unit, or gives its chunks back to the pool. */
void kept_put(uint32_t unit);

/* A kept block of n chunks of the colour: its address; NULL: there is none. */
char *kept_take(uint16_t colour, uint32_t n);

/* How many blocks are kept, and of how many chunks. */
uint32_t kept_blocks(uint32_t *chunks);

/* Gives back the chunks of all kept blocks; false: there was none. */
bool kept_shed(void);

/* In the child of a fork: what is kept is the parent's. */
void kept_start_child(void);

#endif
