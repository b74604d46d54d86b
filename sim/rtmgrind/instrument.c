/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See instrument.h. The number of active transactions is loaded once a block: XBEGIN ends its
 * block, so within one the number cannot grow. Plain code pays that load, and a test and a jump an
 * access.
 */
#include "instrument.h"

#include "access.h"
#include "decode.h"
#include "ir.h"
#include "transaction.h"
#include "unfriendly.h"

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
        guard = both(writer->out, guard, condition);
    ir_call(writer->out, store ? "rtmgrind_store" : "rtmgrind_load",
            store ? (void *)&access_store : (void *)&access_load, address,
            ir_u64(access_site(writer->instruction, (UInt)size)))
        ->guard = guard;
}

static Int size_of(const struct writer *writer, const IRExpr *data)
{
    return sizeofIRType(typeOfIRExpr(writer->out->tyenv, data));
}

static void before_cas(struct writer *writer, const IRCAS *cas)
{
    /* The processor writes the line whether the comparison holds or not. */
    add_access(writer, True, cas->addr, size_of(writer, cas->dataLo) * (cas->dataHi ? 2 : 1), NULL);
}

static void before_guarded_load(struct writer *writer, const IRLoadG *load)
{
    IRType wide, narrow;

    typeOfIRLoadGOp(load->cvt, &wide, &narrow);
    add_access(writer, False, load->addr, sizeofIRType(narrow), load->guard);
}

/* A helper of VEX that works on memory, for instance for FXSAVE. */
static void before_call(struct writer *writer, const IRDirty *call)
{
    if (call->mFx != Ifx_None)
        add_access(writer, call->mFx != Ifx_Read, call->mAddr, call->mSize, call->guard);
}

static Bool is_load_mark(const IRStmt *statement)
{
    const IRExpr *nia = statement->Ist.AbiHint.nia;

    return nia->tag == Iex_Const && nia->Iex.Const.con->tag == Ico_U64 &&
           nia->Iex.Const.con->Ico.U64 == DECODE_LOAD_MARK;
}

static void add_statement(struct writer *writer, IRStmt *statement)
{
    switch (statement->tag) {
    case Ist_IMark:
        writer->instruction = statement->Ist.IMark.addr;
        break;
    case Ist_AbiHint:
        if (is_load_mark(statement)) {
            add_access(writer, False, statement->Ist.AbiHint.base, statement->Ist.AbiHint.len,
                       NULL);
            return;
        }
        break;
    case Ist_Store:
        add_access(writer, True, statement->Ist.Store.addr,
                   size_of(writer, statement->Ist.Store.data), NULL);
        break;
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        add_access(writer, True, store->addr, size_of(writer, store->data), store->guard);
        break;
    }
    case Ist_LoadG:
        before_guarded_load(writer, statement->Ist.LoadG.details);
        break;
    case Ist_CAS:
        before_cas(writer, statement->Ist.CAS.details);
        break;
    case Ist_Dirty:
        before_call(writer, statement->Ist.Dirty.details);
        break;
    default:
        break;
    }
    addStmtToIRSB(writer->out, statement);
}

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word)
{
    struct writer writer = {.out = deepCopyIRSBExceptStmts(in)};
    Int i = 0;

    /* What comes before the first instruction checks that the code is still what was translated,
     * and may leave. */
    while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark)
        addStmtToIRSB(writer.out, in->stmts[i++]);
    writer.guard = load_guard(writer.out);
    for (; i < in->stmts_used; i++)
        add_statement(&writer, in->stmts[i]);
    unfriendly_end(writer.out, in->jumpkind, writer.guard, writer.instruction);
    return writer.out;
}
