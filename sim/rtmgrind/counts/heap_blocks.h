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

#include "pub_tool_execontext.h"

struct heap_block {
    Addr start;
    SizeT size;         /* as asked for; a block of 0 bytes counts as one byte */
    ExeContext *origin; /* where it was allocated */
};

void heap_blocks_init(void);

/* Translation: the instruction at this address comes next in the block, and nothing of the block
 * has gone there by itself: it may be where a function begins. */
void heap_blocks_see_entry(IRSB *out, Addr address);

/* Translation: the block is complete; if it returns from a function, the function may be one. */
void heap_blocks_see_end(IRSB *out);

/* The block that has a byte in the line, the first one if there are several; NULL if none is known.
 * Good until the program allocates or frees. */
const struct heap_block *heap_block_in_line(Addr line);

/* A transaction of this thread begins on this processor, commits or aborts. */
void heap_blocks_begun(Int cpu, ThreadId thread);
void heap_blocks_committed(Int cpu);
void heap_blocks_aborted(Int cpu, ThreadId thread);

#endif
