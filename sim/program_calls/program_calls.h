/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Calls of functions by their names, for Valgrind tools that watch a program and change nothing of
 * it: not its allocator, for to replace that would move the blocks whose places are to be
 * explained.
 *
 * A call is seen at the first instruction of the function, and its result at the return instruction
 * that takes its return address off the stack. Both are found when code is translated. Only the
 * outermost watched call of a thread counts: what an allocator asks of another one, of itself or of
 * a lock is its own affair.
 */
#ifndef PROGRAM_CALLS_H
#define PROGRAM_CALLS_H

#include "program_calls/valgrind_api.h"

#include "pub_tool_execontext.h"

enum { PROGRAM_CALL_NONE = 0, PROGRAM_CALL_ARGUMENTS = 3 };

/* A call that a thread is in. */
struct program_call {
    Int kind; /* PROGRAM_CALL_NONE: in none */
    Addr stack_at_return;
    UWord argument[PROGRAM_CALL_ARGUMENTS];
    ExeContext *origin; /* for who enters it to fill in */
};

struct program_calls_reader {
    /* Translation: what a function of this name is, PROGRAM_CALL_NONE if it is not watched. */
    Int (*kind_of)(const HChar *name);
    /* The running thread is at the first instruction, its registers are in the guest state. */
    void (*entered)(ThreadId thread, struct program_call *call);
    /* It returns with this in RAX. */
    void (*returned)(ThreadId thread, const struct program_call *call, UWord result);
};

/* The tool's VG_(track_start_client_code) and VG_(track_pre_thread_first_insn) must come to the
 * two functions below. */
void program_calls_init(const struct program_calls_reader *reader);
void program_calls_thread_goes_on(ThreadId thread);
void program_calls_thread_is_new(ThreadId thread);

/* Translation: the instruction at this address comes next in the block, and nothing of the block
 * has gone there by itself: it may be where a function begins. */
void program_calls_see_entry(IRSB *out, Addr address);

/* Translation: the block is complete; if it returns from a function, the function may be one. */
void program_calls_see_end(IRSB *out);

/* The call that the thread is in; to put one back that it was in before. */
struct program_call program_calls_open(ThreadId thread);
void program_calls_reopen(ThreadId thread, const struct program_call *call);

#endif
