/*
 * SPDX-License-Identifier: MIT
 *
 * How many mappings of freed blocks are kept for others, and for how long: no more bytes than are
 * in use, within bounds, and for the decay time. Where they wait: huge_cache.h.
 */
#ifndef MPLACE_CIA_HUGE_KEEP_H
#define MPLACE_CIA_HUGE_KEEP_H

#include "cia_malloc/large/huge_mapping.h"

/* Keeps a mapping that has no block any more; older ones may have to go for it. False: it is to be
   given back. now: of decay_clock. */
bool huge_keep(struct huge *huge, uint64_t now);

/*
 * Joins a mapping with kept ones beside it, so that what blocks of several lengths leave serves
 * longer ones. To the kernel they may stay several areas, which it does not grow: see reuse in
 * huge.c. Its age becomes that of its pages on the average.
 */
void huge_join_neighbours(struct huge *huge);

/* Puts a kept mapping that was taken back among the others, as old as it is; gives it back if there
   is no room. */
void huge_keep_on(struct huge *huge);

/* Gives back the mappings that are kept: all; or those that were not wanted for the decay time, a
   few a call. Returns how many bytes. */
size_t huge_give_back_all(void);
size_t huge_give_back_old(uint64_t now);

#endif
