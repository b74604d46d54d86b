/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See instrument.h. It sees code that VEX has optimised: a load whose value nobody uses is gone,
 * and for counts of misses that does not matter.
 */
#include "instrument.h"

#include "caches.h"

#include "program_calls/program_calls.h"
#include "program_calls/ir.h"

/* An access happens if its condition holds; NULL: always. */
static void add_access(IRSB *out, Bool store, IRExpr *address, Int size, IRExpr *condition)
{
    IRDirty *call =
        ir_call(out, store ? "setgrind_store" : "setgrind_load",
                store ? (void *)&caches_store : (void *)&caches_load, address, ir_u64((ULong)size));

    if (condition != NULL)
        call->guard = condition;
}

static void before_statement(IRSB *out, const IRStmt *statement)
{
    struct ir_access access;

    if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.data->tag == Iex_Load) {
        const IRExpr *load = statement->Ist.WrTmp.data;
        add_access(out, False, load->Iex.Load.addr, sizeofIRType(load->Iex.Load.ty), NULL);
    } else if (ir_access_of(out, statement, &access)) {
        add_access(out, access.store, access.address, access.size, access.condition);
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
