/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See dependence.h.
 */
#include "memtrace/dependence.h"

static struct dependence *temporaries;
static UInt room;
static struct dependence registers[WIRE_REGISTERS];
static UInt written; /* registers, by bits */

void dependence_begin(UInt count)
{
    if (count > room) {
        room = 2 * count;
        temporaries = VG_(realloc)("memtrace.temporaries", temporaries, room * sizeof *temporaries);
    }
    VG_(memset)(temporaries, 0, count * sizeof *temporaries);
    for (UInt i = 0; i < WIRE_REGISTERS; i++)
        registers[i] = (struct dependence){.registers = 1U << i};
    written = 0;
}

/* The register at this offset of the guest state; -1: none that is followed. The stack pointer is
 * not: processors know it ahead of what is loaded. */
static Int register_at(Int offset)
{
    if (offset == GUEST_OFFSET(RSP))
        return -1;
    if (offset >= GUEST_OFFSET(RAX) && offset < GUEST_OFFSET(R15) + (Int)sizeof(ULong))
        return (offset - GUEST_OFFSET(RAX)) / (Int)sizeof(ULong);
    if (offset >= GUEST_OFFSET(CC_OP) && offset < GUEST_OFFSET(CC_NDEP) + (Int)sizeof(ULong))
        return WIRE_FLAGS;
    return -1;
}

static struct dependence both(struct dependence one, struct dependence other)
{
    return (struct dependence){
        .registers = one.registers | other.registers,
        .is_loaded = one.is_loaded || other.is_loaded,
    };
}

struct dependence dependence_of(const IRExpr *expression)
{
    struct dependence result = {.registers = 0};
    Int number;

    switch (expression->tag) {
    case Iex_RdTmp:
        return temporaries[expression->Iex.RdTmp.tmp];
    case Iex_Get:
        number = register_at(expression->Iex.Get.offset);
        return number < 0 ? result : registers[number];
    case Iex_Load:
        result.is_loaded = True;
        return result;
    case Iex_Unop:
        return dependence_of(expression->Iex.Unop.arg);
    case Iex_Binop:
        return both(dependence_of(expression->Iex.Binop.arg1),
                    dependence_of(expression->Iex.Binop.arg2));
    case Iex_ITE:
        result = both(dependence_of(expression->Iex.ITE.cond),
                      dependence_of(expression->Iex.ITE.iftrue));
        return both(result, dependence_of(expression->Iex.ITE.iffalse));
    case Iex_CCall:
        for (IRExpr **argument = expression->Iex.CCall.args; *argument != NULL; argument++)
            result = both(result, dependence_of(*argument));
        return result;
    default: /* constants, and floating point, of which no address is made */
        return result;
    }
}

static void write_register(Int offset, struct dependence value)
{
    Int number = register_at(offset);

    if (number < 0)
        return;
    /* The flags are four words, of which the last that is written is not the one that counts. */
    if (number == WIRE_FLAGS && (written & 1U << WIRE_FLAGS) && offset != GUEST_OFFSET(CC_OP))
        value = both(value, registers[number]);
    registers[number] = value;
    written |= 1U << number;
}

void dependence_see(const IRSB *block, const IRStmt *statement)
{
    const struct dependence loaded = {.is_loaded = True};
    const IRDirty *call;

    switch (statement->tag) {
    case Ist_WrTmp:
        temporaries[statement->Ist.WrTmp.tmp] = dependence_of(statement->Ist.WrTmp.data);
        break;
    case Ist_Put:
        write_register(statement->Ist.Put.offset, dependence_of(statement->Ist.Put.data));
        break;
    case Ist_LoadG:
        temporaries[statement->Ist.LoadG.details->dst] = loaded;
        break;
    case Ist_CAS:
        temporaries[statement->Ist.CAS.details->oldLo] = loaded;
        if (statement->Ist.CAS.details->oldHi != IRTemp_INVALID)
            temporaries[statement->Ist.CAS.details->oldHi] = loaded;
        break;
    case Ist_Dirty:
        call = statement->Ist.Dirty.details;
        if (call->tmp != IRTemp_INVALID && call->mFx != Ifx_None)
            temporaries[call->tmp] = loaded;
        for (Int i = 0; i < call->nFxState; i++) {
            if (call->fxState[i].fx != Ifx_Read)
                write_register(call->fxState[i].offset, (struct dependence){.registers = 0});
        }
        break;
    default:
        break;
    }
}

UInt dependence_effects(struct wire_effect effects[WIRE_REGISTERS])
{
    UInt count = 0;

    for (UInt i = 0; i < WIRE_REGISTERS; i++) {
        if (written >> i & 1)
            effects[count++] = (struct wire_effect){
                .target = (UShort)i,
                .is_loaded = registers[i].is_loaded,
                .registers = registers[i].registers,
            };
    }
    written = 0;
    return count;
}
