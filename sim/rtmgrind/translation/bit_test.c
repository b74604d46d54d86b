/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See bit_test.h; Intel SDM volume 2, BT to BTS. With prefixes other than operand size and REX, and
 * with memory, they are left to VEX.
 */
#include "rtmgrind/translation/bit_test.h"

#include "program_calls/ir.h"

/* VEX's helper that computes the flags from what is kept of the last instruction that set them. */
ULong amd64g_calculate_rflags_all(ULong operation, ULong first, ULong second, ULong more);

enum { FLAG_CARRY = 1, FLAGS_KEPT = 0x8d4 /* all others that instructions of this kind may set */ };

enum bit_operation { BIT_TEST, BIT_SET, BIT_RESET, BIT_COMPLEMENT };

struct bit_instruction {
    UInt length, bits; /* of the operand */
    enum bit_operation operation;
    UInt tested, number; /* registers */
};

static Bool recognise(const UChar *code, struct bit_instruction *found)
{
    UInt length = 0;
    UChar rex = 0;
    Bool narrow = False;

    for (; code[length] == 0x66 && length < 2; length++)
        narrow = True;
    if ((code[length] & 0xf0) == 0x40)
        rex = code[length++];
    /* 0F A3, AB, B3, BB: the operation is in the middle */
    if (code[length] != 0x0f || (code[length + 1] & 0xe7) != 0xa3 || code[length + 2] >> 6 != 3)
        return False;
    *found = (struct bit_instruction){
        .length = length + 3,
        .bits = rex & 8  ? 64
                : narrow ? 16
                         : 32,
        .operation = (enum bit_operation)(code[length + 1] >> 3 & 3),
        .tested = (code[length + 2] & 7u) | (rex & 1u) << 3,
        .number = (code[length + 2] >> 3 & 7u) | (rex & 4u) << 1,
    };
    return True;
}

static IRExpr *define(IRSB *block, IRType type, IRExpr *value)
{
    IRTemp temporary = newIRTemp(block->tyenv, type);

    addStmtToIRSB(block, IRStmt_WrTmp(temporary, value));
    return IRExpr_RdTmp(temporary);
}

/* The general registers lie in a row, in the order of their numbers. */
static Int offset_of(UInt number)
{
    return GUEST_OFFSET(RAX) + 8 * (Int)number;
}

static IRExpr *old_flags(void)
{
    return mkIRExprCCall(Ity_I64, 0, "amd64g_calculate_rflags_all", &amd64g_calculate_rflags_all,
                         mkIRExprVec_4(IRExpr_Get(GUEST_OFFSET(CC_OP), Ity_I64),
                                       IRExpr_Get(GUEST_OFFSET(CC_DEP1), Ity_I64),
                                       IRExpr_Get(GUEST_OFFSET(CC_DEP2), Ity_I64),
                                       IRExpr_Get(GUEST_OFFSET(CC_NDEP), Ity_I64)));
}

static IRExpr *changed(enum bit_operation operation, IRExpr *value, IRExpr *mask)
{
    if (operation == BIT_SET)
        return IRExpr_Binop(Iop_Or64, value, mask);
    if (operation == BIT_RESET)
        return IRExpr_Binop(Iop_And64, value, IRExpr_Unop(Iop_Not64, mask));
    return IRExpr_Binop(Iop_Xor64, value, mask);
}

Bool bit_test_decode(IRSB *block, const UChar *code, Addr address, struct decoded *decoded)
{
    struct bit_instruction found;

    if (!recognise(code, &found))
        return False;
    IRExpr *value = define(block, Ity_I64, IRExpr_Get(offset_of(found.tested), Ity_I64));
    IRExpr *number = define(
        block, Ity_I8,
        IRExpr_Unop(Iop_64to8, IRExpr_Binop(Iop_And64, IRExpr_Get(offset_of(found.number), Ity_I64),
                                            ir_u64(found.bits - 1))));
    IRExpr *carry =
        IRExpr_Binop(Iop_And64, IRExpr_Binop(Iop_Shr64, value, number), ir_u64(FLAG_CARRY));
    IRExpr *flags = define(
        block, Ity_I64,
        IRExpr_Binop(Iop_Or64, IRExpr_Binop(Iop_And64, old_flags(), ir_u64(FLAGS_KEPT)), carry));

    if (found.operation != BIT_TEST) {
        IRExpr *mask = define(block, Ity_I64, IRExpr_Binop(Iop_Shl64, ir_u64(1), number));
        IRExpr *result = changed(found.operation, value, mask);
        /* 32 bits clear the upper ones; of 16 these are as they were. */
        if (found.bits == 32)
            result = IRExpr_Unop(Iop_32Uto64, IRExpr_Unop(Iop_64to32, result));
        addStmtToIRSB(block, IRStmt_Put(offset_of(found.tested), result));
    }
    ir_put_flags(block, flags);
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(address + found.length)));
    *decoded = (struct decoded){.length = found.length,
                                .next = DECODED_CONTINUE,
                                .hint = DECODED_NO_HINT,
                                .jump = Ijk_INVALID};
    return True;
}
