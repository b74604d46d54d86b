/*
 * SPDX-License-Identifier: MIT
 *
 * Chunks for a thread: of its own banks if the pool has such or can get them, else by the modes.
 * And the counts of where they came from.
 *
 * Every function is called with arena.lock held.
 */
#ifndef MPLACE_BANK_REFILL_H
#define MPLACE_BANK_REFILL_H

#include "bank_malloc/heap/colours.h"
#include "bank_malloc/memory/arena.h"

/* Requests for each colour, by where their chunks came from. */
struct refill_counts {
    uint64_t by_source[POOL_FROM_RUN + 1]; /* enum pool_source; POOL_FULL: refused */
};

/* Indexed by colour. */
extern struct refill_counts refill_counts[POOL_COLOURS_MOST];

/* Called when a bank is empty, before the pool grows and when it cannot: gives back what ended
   threads and, unless orphans_only, threads that sleep hold. */
extern void (*refill_sweep)(bool orphans_only);

/*
 * A block of whole chunks that begins at a multiple of alignment chunks, a power of two; NULL:
 * there is none. Which of the set's colours is asked first goes by *turn, which is changed. modes:
 * as enum pool_mode.
 */
char *refill_block(struct colour_set set, uint32_t *turn, size_t chunks, size_t alignment,
                   unsigned modes);

/* One chunk in its place; POOL_NONE: there is none. */
uint32_t refill_chunk(struct colour_set set, uint32_t *turn, unsigned modes);

/* After memory went back to the kernel, and in the child of a fork: what it gives next may be of
   colours that it had none of so far. */
void refill_forget_yield(void);

/* The chunks of a block; 0: no block begins there. */
uint32_t refill_length(const void *block);

/* Gives back a block that refill_length knows. */
void refill_give_back(void *block);

#endif
