/*
 * SPDX-License-Identifier: MIT
 *
 * With CIA_HARDEN=1: mappings whose block has guard pages on both sides, and that are protected as
 * a whole while they are kept. No block begins in one that was freed until many others were.
 */
#ifndef MPLACE_CIA_HUGE_GUARDED_H
#define MPLACE_CIA_HUGE_GUARDED_H

#include "cia_malloc/large/huge_mapping.h"

/* Whether a block that could do with a run of pages is to have a mapping, with guard pages. */
bool huge_guarded_is_wanted(void);

/* Closes what is mapped beside the block, as far as the kernel will. */
void huge_protect_both_sides(const struct huge *record);

/* Closes a mapping that is to be kept, and gives its memory back. False: the kernel refuses. */
bool huge_protect_whole(const struct huge *record);

/*
 * A block in the mapping that has been protected for longest, if there are many, and it is right
 * for that. NULL: there is none.
 */
void *huge_reuse_protected(size_t total, size_t offset, uint8_t node);

/* How long to make a mapping that needs total bytes: guard pages behind the block cost no
   memory, and a power of two, or whole chunks, suit more blocks later. */
size_t huge_guarded_extent_for(size_t total);

/* huge_resize of such a block, where it is: the guard pages on both sides stay. */
void *huge_resize_guarded(struct huge *huge, size_t new_bytes);

#endif
