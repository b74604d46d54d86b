/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wrapper around VEX's decoder of one instruction. VEX decodes XBEGIN as one that aborts at
 * once and XEND as undefined, so RTM never reaches it; what it decodes gets its loads marked.
 */
#include "rtmgrind/translation/decode.h"

#include "program_calls/ir.h"
#include "program_calls/core_internals.h"
#include "rtmgrind/common/options.h"
#include "rtmgrind/counts/calls.h"
#include "rtmgrind/translation/bit_test.h"
#include "rtmgrind/translation/identity.h"
#include "rtmgrind/translation/rtm_instructions.h"
#include "rtmgrind/translation/unfriendly.h"
#include "rtmgrind/translation/variants.h"
#include "virtual_processors/processor_number.h"

static IRExpr *lift(IRSB *block, IRExpr *expression);

static void lift_all(IRSB *block, IRExpr **arguments)
{
    for (; *arguments != NULL; arguments++)
        *arguments = lift(block, *arguments);
}

/* Appends the mark and the load itself, and returns the temporary that has the value. The two must
 * stay neighbours: VEX looks at statements from behind when it joins blocks, stops at a load as
 * something that it cannot make conditional, and so never comes to the hint, which it cannot
 * handle there. */
static IRExpr *lift_load(IRSB *block, IRExpr *load)
{
    IRTemp address = newIRTemp(block->tyenv, Ity_I64);
    IRTemp value = newIRTemp(block->tyenv, load->Iex.Load.ty);

    load->Iex.Load.addr = lift(block, load->Iex.Load.addr);
    addStmtToIRSB(block, IRStmt_WrTmp(address, load->Iex.Load.addr));
    addStmtToIRSB(block, IRStmt_AbiHint(IRExpr_RdTmp(address), sizeofIRType(load->Iex.Load.ty),
                                        ir_u64(DECODE_LOAD_MARK)));
    addStmtToIRSB(block, IRStmt_WrTmp(value, IRExpr_Load(load->Iex.Load.end, load->Iex.Load.ty,
                                                         IRExpr_RdTmp(address))));
    return IRExpr_RdTmp(value);
}

/* Appends every load inside the expression as a marked statement of its own; returns the
 * expression without them. */
static IRExpr *lift(IRSB *block, IRExpr *expression)
{
    switch (expression->tag) {
    case Iex_Load:
        return lift_load(block, expression);
    case Iex_Unop:
        expression->Iex.Unop.arg = lift(block, expression->Iex.Unop.arg);
        break;
    case Iex_Binop:
        expression->Iex.Binop.arg1 = lift(block, expression->Iex.Binop.arg1);
        expression->Iex.Binop.arg2 = lift(block, expression->Iex.Binop.arg2);
        break;
    case Iex_Triop:
        expression->Iex.Triop.details->arg1 = lift(block, expression->Iex.Triop.details->arg1);
        expression->Iex.Triop.details->arg2 = lift(block, expression->Iex.Triop.details->arg2);
        expression->Iex.Triop.details->arg3 = lift(block, expression->Iex.Triop.details->arg3);
        break;
    case Iex_Qop:
        expression->Iex.Qop.details->arg1 = lift(block, expression->Iex.Qop.details->arg1);
        expression->Iex.Qop.details->arg2 = lift(block, expression->Iex.Qop.details->arg2);
        expression->Iex.Qop.details->arg3 = lift(block, expression->Iex.Qop.details->arg3);
        expression->Iex.Qop.details->arg4 = lift(block, expression->Iex.Qop.details->arg4);
        break;
    case Iex_ITE:
        expression->Iex.ITE.cond = lift(block, expression->Iex.ITE.cond);
        expression->Iex.ITE.iftrue = lift(block, expression->Iex.ITE.iftrue);
        expression->Iex.ITE.iffalse = lift(block, expression->Iex.ITE.iffalse);
        break;
    case Iex_CCall:
        lift_all(block, expression->Iex.CCall.args);
        break;
    case Iex_GetI:
        expression->Iex.GetI.ix = lift(block, expression->Iex.GetI.ix);
        break;
    default: /* Get, RdTmp, Const, the guest state pointer: nothing inside */
        break;
    }
    return expression;
}

/* Appends the statement, its loads as statements before it. */
static void add_lifted(IRSB *block, IRStmt *statement)
{
    switch (statement->tag) {
    case Ist_WrTmp:
        statement->Ist.WrTmp.data = lift(block, statement->Ist.WrTmp.data);
        break;
    case Ist_Put:
        statement->Ist.Put.data = lift(block, statement->Ist.Put.data);
        break;
    case Ist_PutI:
        statement->Ist.PutI.details->ix = lift(block, statement->Ist.PutI.details->ix);
        statement->Ist.PutI.details->data = lift(block, statement->Ist.PutI.details->data);
        break;
    case Ist_Store:
        statement->Ist.Store.addr = lift(block, statement->Ist.Store.addr);
        statement->Ist.Store.data = lift(block, statement->Ist.Store.data);
        break;
    case Ist_StoreG:
        statement->Ist.StoreG.details->addr = lift(block, statement->Ist.StoreG.details->addr);
        statement->Ist.StoreG.details->data = lift(block, statement->Ist.StoreG.details->data);
        statement->Ist.StoreG.details->guard = lift(block, statement->Ist.StoreG.details->guard);
        break;
    case Ist_Exit:
        statement->Ist.Exit.guard = lift(block, statement->Ist.Exit.guard);
        break;
    case Ist_Dirty:
        statement->Ist.Dirty.details->guard = lift(block, statement->Ist.Dirty.details->guard);
        break;
    default: /* a CAS and the like have no loads inside but their own */
        break;
    }
    addStmtToIRSB(block, statement);
}

static void adapt_calls(IRSB *block, Int first)
{
    for (Int i = first; i < block->stmts_used; i++) {
        if (block->stmts[i]->tag == Ist_Dirty)
            identity_replace(block->stmts[i]->Ist.Dirty.details);
    }
    processor_number_replace(block, first);
}

/* Takes the statements from `first` on off the block and puts them back with their loads marked. */
static void mark_loads(IRSB *block, Int first)
{
    enum { USUAL = 64 };
    IRStmt *few[USUAL];
    Int count = block->stmts_used - first;
    IRStmt **taken = count <= USUAL ? few : VG_(malloc)("rtm.decode", (SizeT)count * sizeof *taken);

    VG_(memcpy)(taken, block->stmts + first, (SizeT)count * sizeof *taken);
    block->stmts_used = first;
    for (Int i = 0; i < count; i++)
        add_lifted(block, taken[i]);
    if (taken != few)
        VG_(free)(taken);
}

/* Is this the first instruction of the block, or of a part that VEX came to by following a jump? */
static Bool may_be_entry(const IRSB *block)
{
    Int instructions = 0;

    for (Int i = 0; i < block->stmts_used && instructions < 2; i++)
        instructions += block->stmts[i]->tag == Ist_IMark;
    return instructions == 1;
}

struct decoded __wrap_disInstr_AMD64(DECODE_PARAMETERS)
{
    const UChar *bytes = code + delta;
    struct decoded decoded;

    /* Here and not in instrument.c: there VEX has taken out what it holds for useless, for instance
     * a value of the stack pointer that the next instruction changes again. */
    if (may_be_entry(block))
        calls_see_entry(block, address);
    if (options.rtm) {
        struct rtm_instruction instruction = rtm_recognise(bytes);
        if (instruction.operation != RTM_NONE)
            return rtm_emit(block, &instruction, address);
    }
    if (processor_number_decode(block, bytes, address, &decoded) ||
        bit_test_decode(block, bytes, address, &decoded))
        return decoded;
    if (variant_now != VARIANT_PLAIN)
        unfriendly_before(block, bytes, address);
    Int first = block->stmts_used;
    VexArchInfo host = processor_number_known(architecture_info);
    decoded = __real_disInstr_AMD64(block, code, delta, address, architecture, &host, abi_info,
                                    endness, diagnose);
    adapt_calls(block, first);
    if (variant_now != VARIANT_PLAIN)
        mark_loads(block, first);
    return decoded;
}
