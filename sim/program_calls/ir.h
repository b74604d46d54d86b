/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Short names for the pieces of IR that the tools write, and what they ask of those that they read.
 */
#ifndef PROGRAM_CALLS_IR_H
#define PROGRAM_CALLS_IR_H

#include "program_calls/valgrind_api.h"

static inline IRExpr *ir_u64(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

static inline IRExpr *ir_u32(UInt value)
{
    return IRExpr_Const(IRConst_U32(value));
}

/* Appends a call with two arguments and no result. */
static inline IRDirty *ir_call(IRSB *block, const HChar *name, void *helper, IRExpr *first,
                               IRExpr *second)
{
    IRDirty *call = unsafeIRDirty_0_N(0, name, helper, mkIRExprVec_2(first, second));

    addStmtToIRSB(block, IRStmt_Dirty(call));
    return call;
}

/* What a statement does to memory beside loading a temporary. */
struct ir_access {
    Bool store;
    IRExpr *address;
    Int size;
    IRExpr *condition; /* it happens if this holds; NULL: always */
};

/* False: nothing. */
static inline Bool ir_access_of(const IRSB *block, const IRStmt *statement,
                                struct ir_access *access)
{
    IRType wide, narrow;

    *access = (struct ir_access){.store = True};
    switch (statement->tag) {
    case Ist_Store:
        access->address = statement->Ist.Store.addr;
        access->size = sizeofIRType(typeOfIRExpr(block->tyenv, statement->Ist.Store.data));
        return True;
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        access->address = store->addr;
        access->size = sizeofIRType(typeOfIRExpr(block->tyenv, store->data));
        access->condition = store->guard;
        return True;
    }
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        typeOfIRLoadGOp(load->cvt, &wide, &narrow);
        access->store = False;
        access->address = load->addr;
        access->size = sizeofIRType(narrow);
        access->condition = load->guard;
        return True;
    }
    case Ist_CAS: { /* the processor writes the line whether the comparison holds or not */
        const IRCAS *cas = statement->Ist.CAS.details;
        access->address = cas->addr;
        access->size =
            sizeofIRType(typeOfIRExpr(block->tyenv, cas->dataLo)) * (cas->dataHi ? 2 : 1);
        return True;
    }
    case Ist_Dirty: { /* a helper of VEX that works on memory, for instance for FXSAVE */
        const IRDirty *call = statement->Ist.Dirty.details;
        access->store = call->mFx != Ifx_Read;
        access->address = call->mAddr;
        access->size = call->mSize;
        access->condition = call->guard;
        return call->mFx != Ifx_None;
    }
    default:
        return False;
    }
}

static inline void ir_guest_effect(IRDirty *call, IREffect effect, UInt offset, UInt size)
{
    call->nFxState = 1;
    call->fxState[0].fx = effect;
    call->fxState[0].offset = (UShort)offset;
    call->fxState[0].size = (UShort)size;
    call->fxState[0].nRepeats = 0;
    call->fxState[0].repeatLen = 0;
}

/* VEX has all registers in the guest state when it calls, and reads them again after it. */
static inline void ir_uses_all_registers(IRDirty *call)
{
    ir_guest_effect(call, Ifx_Modify, REGISTERS_BEGIN, REGISTERS_SIZE);
}

/* The helper gets the guest state for its event counter only; a call with that pointer must name
 * an effect. */
static inline void ir_uses_event_counter(IRDirty *call)
{
    ir_guest_effect(call, Ifx_Read, offsetof(Guest, host_EvC_COUNTER), sizeof(UInt));
}

/* The flags are this value from here on. */
static inline void ir_put_flags(IRSB *block, IRExpr *flags)
{
    enum { FLAGS_ARE_IN_DEP1 = 0 }; /* VEX's AMD64G_CC_OP_COPY */

    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(CC_OP), ir_u64(FLAGS_ARE_IN_DEP1)));
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(CC_DEP1), flags));
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(CC_DEP2), ir_u64(0)));
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(CC_NDEP), ir_u64(0)));
}

#endif
