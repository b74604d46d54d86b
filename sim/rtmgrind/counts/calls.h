/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which calls of the program are watched for the report, and who is told of them: those that
 * allocate for heap_blocks.h, those of locks for sections.h.
 */
#ifndef RTMGRIND_CALLS_H
#define RTMGRIND_CALLS_H

#include "rtmgrind/common/transaction_state.h"

/* After the options are known; without --heap nothing is watched. */
void calls_init(void);

/* Translation: the instruction at this address comes next in the block, and nothing of the block
 * has gone there by itself: it may be where a function begins. */
void calls_see_entry(IRSB *out, Addr address);

/* Translation: the block is complete; if it returns from a function, the function may be one. */
void calls_see_end(IRSB *out);

/* A transaction of this thread begins on this processor, or aborts: the thread is in the call again
 * in which it was then. */
void calls_begun(Int cpu, ThreadId thread);
void calls_aborted(Int cpu, ThreadId thread);

#endif
