/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which heap block is at an address, of what size and allocated where, for a program that keeps its
 * own allocator: to replace that would change the placement that is to be explained.
 *
 * Calls of malloc and its relatives are seen as sim/program_calls tells; the program is not
 * touched. What a transaction allocates and frees is taken back when it aborts.
 */
#ifndef RTMGRIND_HEAP_BLOCKS_H
#define RTMGRIND_HEAP_BLOCKS_H

#include "rtmgrind/common/transaction_state.h"

#include "program_calls/allocation_calls.h"

struct heap_block {
    Addr start;
    SizeT size;         /* as asked for; a block of 0 bytes counts as one byte */
    ExeContext *origin; /* where it was allocated */
};

void heap_blocks_init(void);

/* Calls that allocate and free, as they are entered and as they return. */
void heap_blocks_entered(ThreadId thread, struct program_call *call);
void heap_blocks_returned(const struct program_call *call, UWord result);

/* The block that has a byte in the line, the first one if there are several; NULL if none is known.
 * Good until the program allocates or frees. */
const struct heap_block *heap_block_in_line(Addr line);

/* The block that the byte is in; NULL if none is known. */
const struct heap_block *heap_block_at(Addr address);

/* The transaction on this processor commits or aborts. */
void heap_blocks_committed(Int cpu);
void heap_blocks_aborted(Int cpu);

#endif
