/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See program_calls.h.
 */
#include "program_calls.h"

#include "program_calls/ir.h"

static const struct program_calls_reader *reader;
static struct program_call *calls; /* by thread */

/* Where the stack pointer of the running thread will stand when its call returns; 0: in none. Code
 * that returns compares it with the stack pointer. */
static Addr awaited_stack;

static void helper_entry(ULong kind, const Guest *guest)
{
    ThreadId thread = VG_(get_running_tid)();
    struct program_call *call = &calls[thread];
    Addr stack = guest->guest_RSP + sizeof(Addr);

    /* Within a call of this thread; unless that one was left by a jump, and its frame is gone. */
    if (call->kind != PROGRAM_CALL_NONE && stack < call->stack_at_return)
        return;
    *call = (struct program_call){
        .kind = (Int)kind,
        .stack_at_return = stack,
        .argument = {guest->guest_RDI, guest->guest_RSI, guest->guest_RDX},
    };
    awaited_stack = stack;
    reader->entered(thread, call);
}

/* A return instruction of the running thread has taken the return address of its call. */
static void helper_return(const Guest *guest)
{
    ThreadId thread = VG_(get_running_tid)();
    struct program_call *call = &calls[thread];

    if (call->kind != PROGRAM_CALL_NONE)
        reader->returned(thread, call, guest->guest_RAX);
    call->kind = PROGRAM_CALL_NONE;
    awaited_stack = 0;
}

void program_calls_see_entry(IRSB *out, Addr address)
{
    const HChar *name;
    Int kind;

    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), address, &name))
        return;
    kind = reader->kind_of(name);
    if (kind == PROGRAM_CALL_NONE)
        return;
    /* The stack is unwound from the registers: all of them, and the address that it stands at. */
    addStmtToIRSB(out, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(address)));
    IRDirty *call =
        ir_call(out, "program_calls_entry", &helper_entry, ir_u64((ULong)kind), IRExpr_GSPTR());
    ir_guest_effect(call, Ifx_Read, REGISTERS_BEGIN, REGISTERS_SIZE);
}

void program_calls_see_end(IRSB *out)
{
    if (out->jumpkind != Ijk_Ret)
        return;
    IRTemp stack = newIRTemp(out->tyenv, Ity_I64), awaited = newIRTemp(out->tyenv, Ity_I64);
    IRTemp match = newIRTemp(out->tyenv, Ity_I1);
    addStmtToIRSB(out, IRStmt_WrTmp(stack, IRExpr_Get(GUEST_OFFSET(RSP), Ity_I64)));
    addStmtToIRSB(
        out, IRStmt_WrTmp(awaited, IRExpr_Load(Iend_LE, Ity_I64, ir_u64((HWord)&awaited_stack))));
    addStmtToIRSB(out, IRStmt_WrTmp(match, IRExpr_Binop(Iop_CmpEQ64, IRExpr_RdTmp(stack),
                                                        IRExpr_RdTmp(awaited))));
    IRDirty *call =
        unsafeIRDirty_0_N(0, "program_calls_return", &helper_return, mkIRExprVec_1(IRExpr_GSPTR()));
    call->guard = IRExpr_RdTmp(match);
    ir_guest_effect(call, Ifx_Read, REGISTERS_BEGIN, REGISTERS_SIZE);
    addStmtToIRSB(out, IRStmt_Dirty(call));
}

struct program_call program_calls_open(ThreadId thread)
{
    return calls[thread];
}

void program_calls_thread_goes_on(ThreadId thread)
{
    awaited_stack = calls[thread].kind == PROGRAM_CALL_NONE ? 0 : calls[thread].stack_at_return;
}

void program_calls_reopen(ThreadId thread, const struct program_call *call)
{
    calls[thread] = *call;
    if (thread == VG_(get_running_tid)())
        program_calls_thread_goes_on(thread);
}

void program_calls_thread_is_new(ThreadId thread)
{
    calls[thread].kind = PROGRAM_CALL_NONE;
}

/* Only the thread that forked lives on; those of others are not seen to return. */
static void in_child(ThreadId thread)
{
    for (ThreadId other = 1; other < VG_N_THREADS; other++) {
        if (other != thread)
            calls[other].kind = PROGRAM_CALL_NONE;
    }
}

void program_calls_init(const struct program_calls_reader *tool)
{
    reader = tool;
    calls = VG_(calloc)("program.calls", VG_N_THREADS, sizeof *calls);
    VG_(atfork)(NULL, NULL, in_child);
}
