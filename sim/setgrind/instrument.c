/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See instrument.h. It sees code that VEX has optimised: a load whose value nobody uses is gone,
 * and for counts of misses that does not matter.
 */
#include "instrument.h"

#include "caches.h"

#include "program_calls/program_calls.h"
#include "rtmgrind/ir.h"

/* An access happens if its condition holds; NULL: always. */
static void add_access(IRSB *out, Bool store, IRExpr *address, Int size, IRExpr *condition)
{
    IRDirty *call =
        ir_call(out, store ? "setgrind_store" : "setgrind_load",
                store ? (void *)&caches_store : (void *)&caches_load, address, ir_u64((ULong)size));

    if (condition != NULL)
        call->guard = condition;
}

static Int size_of(const IRSB *out, const IRExpr *data)
{
    return sizeofIRType(typeOfIRExpr(out->tyenv, data));
}

static void before_guarded_load(IRSB *out, const IRLoadG *load)
{
    IRType wide, narrow;

    typeOfIRLoadGOp(load->cvt, &wide, &narrow);
    add_access(out, False, load->addr, sizeofIRType(narrow), load->guard);
}

static void before_statement(IRSB *out, const IRStmt *statement)
{
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *data = statement->Ist.WrTmp.data;
        if (data->tag == Iex_Load)
            add_access(out, False, data->Iex.Load.addr, sizeofIRType(data->Iex.Load.ty), NULL);
        break;
    }
    case Ist_Store:
        add_access(out, True, statement->Ist.Store.addr, size_of(out, statement->Ist.Store.data),
                   NULL);
        break;
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        add_access(out, True, store->addr, size_of(out, store->data), store->guard);
        break;
    }
    case Ist_LoadG:
        before_guarded_load(out, statement->Ist.LoadG.details);
        break;
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        add_access(out, True, cas->addr, size_of(out, cas->dataLo) * (cas->dataHi ? 2 : 1), NULL);
        break;
    }
    case Ist_Dirty: { /* a helper of VEX that works on memory, for instance for FXSAVE */
        const IRDirty *call = statement->Ist.Dirty.details;
        if (call->mFx != Ifx_None)
            add_access(out, call->mFx != Ifx_Read, call->mAddr, call->mSize, call->guard);
        break;
    }
    default:
        break;
    }
}

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word)
{
    IRSB *out = deepCopyIRSBExceptStmts(in);
    Int i = 0;

    /* What comes before the first instruction checks that the code is still what was translated,
     * and may leave. */
    while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark)
        addStmtToIRSB(out, in->stmts[i++]);
    /* VEX follows no jumps here (main.c), so that a function is entered at the first instruction.
     */
    program_calls_see_entry(out, closure->readdr);
    for (; i < in->stmts_used; i++) {
        before_statement(out, in->stmts[i]);
        addStmtToIRSB(out, in->stmts[i]);
    }
    program_calls_see_end(out);
    return out;
}
