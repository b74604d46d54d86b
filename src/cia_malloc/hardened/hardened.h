/*
 * SPDX-License-Identifier: MIT
 *
 * The malloc family with CIA_HARDEN=1: what allocator.c does in place of everything else. Every
 * misuse that is described in docs/internals.md under "Hardened mode" ends the process with one
 * line that says what is wrong with which block.
 */
#ifndef MPLACE_CIA_HARDENED_H
#define MPLACE_CIA_HARDENED_H

#include "cia_malloc/heap/subheap.h"

/*
 * A block of so many bytes (0 to PTRDIFF_MAX), aligned to a power of two and to a line; *zeroed:
 * they read as zero. NULL when this sub-heap can have no memory for it. The sub-heap is locked on
 * entry and unlocked on return.
 */
void *hardened_allocate_and_unlock(struct subheap *heap, size_t alignment, size_t bytes,
                                   bool *zeroed);

/*
 * block came from there, and is the program's. copy: NULL, or where its first bytes, so many, are
 * copied to once it is no longer the program's: who frees it meanwhile frees a free block.
 */
void hardened_free(void *block, void *copy, size_t bytes);

/* Bytes of the block that are the program's: as many as it asked for. */
size_t hardened_usable(const void *block);

/*
 * The block with so many bytes (1 to PTRDIFF_MAX) and its contents, without a copy. NULL, block
 * untouched, when that cannot be done; unless it must stay, also when another block would take half
 * the memory. *old_bytes: what it had.
 */
void *hardened_resize(void *block, size_t bytes, bool must_stay, size_t *old_bytes);

/* Gives back all blocks that wait until they may be handed out again. */
void hardened_release_all(void);

#endif
