/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See instrument.h. Which of the variants is made is told in variants.h.
 */
#include "rtmgrind/translation/instrument.h"

#include "program_calls/ir.h"
#include "rtmgrind/counts/calls.h"
#include "rtmgrind/counts/holds.h"
#include "rtmgrind/transactions/transaction.h"
#include "rtmgrind/translation/access.h"
#include "rtmgrind/translation/decode.h"
#include "rtmgrind/translation/unfriendly.h"
#include "rtmgrind/translation/variants.h"

/* The block that is being written, its guard, and where in the guest's code it is. */
struct writer {
    IRSB *out;
    IRExpr *guard;
    Addr instruction;
};

static IRExpr *load_guard(IRSB *out)
{
    IRTemp count = newIRTemp(out->tyenv, Ity_I32);
    IRTemp some = newIRTemp(out->tyenv, Ity_I1);

    addStmtToIRSB(out, IRStmt_WrTmp(count, IRExpr_Load(Iend_LE, Ity_I32,
                                                       ir_u64((HWord)&transactions_active))));
    addStmtToIRSB(out,
                  IRStmt_WrTmp(some, IRExpr_Binop(Iop_CmpNE32, IRExpr_RdTmp(count), ir_u32(0))));
    return IRExpr_RdTmp(some);
}

static IRExpr *both(IRSB *out, IRExpr *one, IRExpr *other)
{
    IRTemp result = newIRTemp(out->tyenv, Ity_I1);

    addStmtToIRSB(out, IRStmt_WrTmp(result, IRExpr_Binop(Iop_And1, one, other)));
    return IRExpr_RdTmp(result);
}

/* An access happens if its own condition holds, too; NULL: always. */
static void add_access(struct writer *writer, Bool store, IRExpr *address, Int size,
                       IRExpr *condition)
{
    IRExpr *guard = writer->guard;

    if (condition != NULL && condition->tag != Iex_Const)
        guard = guard->tag == Iex_Const ? condition : both(writer->out, guard, condition);
    ir_call(writer->out, store ? "rtmgrind_store" : "rtmgrind_load",
            store ? (void *)&access_store : (void *)&access_load, address,
            ir_u64(access_site(writer->instruction, (UInt)size)))
        ->guard = guard;
}

static Bool is_load_mark(const IRStmt *statement)
{
    const IRExpr *nia = statement->Ist.AbiHint.nia;

    return nia->tag == Iex_Const && nia->Iex.Const.con->tag == Ico_U64 &&
           nia->Iex.Const.con->Ico.U64 == DECODE_LOAD_MARK;
}

static void add_statement(struct writer *writer, IRStmt *statement)
{
    struct ir_access access;

    switch (statement->tag) {
    case Ist_IMark:
        writer->instruction = statement->Ist.IMark.addr;
        /* VEX compares where a jump goes with where the block's code is: one that leads back is
         * tied to where its target counts events. Without that a loop would never end its turn. */
        if (variant_now == VARIANT_HOOKED)
            statement = IRStmt_IMark(hooked_address(writer->instruction), statement->Ist.IMark.len,
                                     statement->Ist.IMark.delta);
        break;
    case Ist_AbiHint:
        if (is_load_mark(statement)) {
            add_access(writer, False, statement->Ist.AbiHint.base, statement->Ist.AbiHint.len,
                       NULL);
            return;
        }
        break;
    default:
        if (ir_access_of(writer->out, statement, &access))
            add_access(writer, access.store, access.address, access.size, access.condition);
        break;
    }
    addStmtToIRSB(writer->out, statement);
}

/* Does the program go on from here by itself, without the core? */
static Bool goes_on(IRJumpKind jump)
{
    return jump == Ijk_Boring || jump == Ijk_Call || jump == Ijk_Ret;
}

/* A way out in the middle goes on as the block does. Guard: a transaction is active. */
static void add_exit(struct writer *writer, IRStmt *statement)
{
    IRConst *target = statement->Ist.Exit.dst;
    IRExpr *condition = statement->Ist.Exit.guard;

    if (goes_on(statement->Ist.Exit.jk)) {
        IRConst *marked = IRConst_U64(hooked_address(target->Ico.U64));
        if (writer->guard->tag != Iex_Const)
            condition = both(writer->out, condition, writer->guard);
        addStmtToIRSB(writer->out, IRStmt_Exit(condition, statement->Ist.Exit.jk, marked,
                                               statement->Ist.Exit.offsIP));
        if (writer->guard->tag == Iex_Const)
            return;
    }
    addStmtToIRSB(writer->out, statement);
}

/* The end goes to hooked code: always if the address is fixed, as long as any transaction is active
 * if it is computed. */
static void mark_next(struct writer *writer)
{
    IRSB *out = writer->out;

    if (!goes_on(out->jumpkind))
        return;
    if (out->next->tag == Iex_Const && writer->guard->tag == Iex_Const) {
        out->next = ir_u64(hooked_address(out->next->Iex.Const.con->Ico.U64));
        return;
    }
    IRTemp mark = newIRTemp(out->tyenv, Ity_I64), marked = newIRTemp(out->tyenv, Ity_I64);
    addStmtToIRSB(
        out, IRStmt_WrTmp(mark, IRExpr_Load(Iend_LE, Ity_I64, ir_u64((HWord)&transactions_mark))));
    addStmtToIRSB(out,
                  IRStmt_WrTmp(marked, IRExpr_Binop(Iop_Xor64, out->next, IRExpr_RdTmp(mark))));
    out->next = IRExpr_RdTmp(marked);
}

/* Instructions are counted when they have run, or begin to: before whatever may look at the count,
 * or leave the block. */
static void count_instructions(IRSB *out, UInt *count)
{
    IRExpr *counter = ir_u64((HWord)&sections_instructions);
    IRTemp before = newIRTemp(out->tyenv, Ity_I64), after = newIRTemp(out->tyenv, Ity_I64);

    if (!options.sections || *count == 0)
        return;
    addStmtToIRSB(out, IRStmt_WrTmp(before, IRExpr_Load(Iend_LE, Ity_I64, counter)));
    addStmtToIRSB(
        out, IRStmt_WrTmp(after, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(before), ir_u64(*count))));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, counter, IRExpr_RdTmp(after)));
    *count = 0;
}

static void write_plain(IRSB *out, const IRSB *in, Int first)
{
    UInt instructions = 0;

    for (Int i = first; i < in->stmts_used; i++) {
        IRStmtTag tag = in->stmts[i]->tag;
        instructions += tag == Ist_IMark;
        if (tag == Ist_Exit || tag == Ist_Dirty)
            count_instructions(out, &instructions);
        addStmtToIRSB(out, in->stmts[i]);
    }
    count_instructions(out, &instructions);
    calls_see_end(out);
}

static void write_hooked(IRSB *out, const IRSB *in, Int first, IRExpr *guard)
{
    struct writer writer = {.out = out, .guard = guard};
    UInt instructions;

    for (Int i = first; i < in->stmts_used; i++) {
        instructions = in->stmts[i]->tag == Ist_IMark;
        count_instructions(out, &instructions);
        if (in->stmts[i]->tag == Ist_Exit)
            add_exit(&writer, in->stmts[i]);
        else
            add_statement(&writer, in->stmts[i]);
    }
    calls_see_end(out);
    unfriendly_end(out, in->jumpkind, guard, writer.instruction);
    mark_next(&writer);
}

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word)
{
    IRSB *out = deepCopyIRSBExceptStmts(in);
    Int first = 0;

    /* What comes before the first instruction checks that the code is still what was translated,
     * and may leave. */
    while (first < in->stmts_used && in->stmts[first]->tag != Ist_IMark)
        addStmtToIRSB(out, in->stmts[first++]);
    switch (variant_now) {
    case VARIANT_PLAIN:
        write_plain(out, in, first);
        break;
    case VARIANT_HOOKED:
        /* VEX takes the register to hold the block's address, and does not set it for the first
         * instruction. Here it holds the marked one, which a fault handler must not see. */
        addStmtToIRSB(out, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(closure->readdr)));
        write_hooked(out, in, first, IRExpr_Const(IRConst_U1(True)));
        break;
    case VARIANT_GUARDED:
        write_hooked(out, in, first, load_guard(out));
        break;
    }
    return out;
}
