/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See unfriendly.h. The Intel SDM (volume 1, "Guidelines for software", RTM and HLE) lists
 * instructions that always abort (CPUID, PAUSE) and those that may, depending on the processor. Of
 * the second group those abort here that do on an Emerald Rapids Xeon (family 6, model 207), where
 * each was tried in 2000 transactions and aborted all of them or none.
 */
#include "rtmgrind/translation/unfriendly.h"

#include "program_calls/ir.h"
#include "rtmgrind/transactions/transaction.h"
#include "rtmgrind/translation/dispatch.h"

static void helper_unfriendly(ULong cause, Addr address)
{
    struct abort_event event = {.cause = (enum abort_cause)cause, .instruction = address};

    if (transaction_running != NULL)
        dispatch_abort(&event);
}

/* Which of the prefixes that can change the meaning are there. */
struct prefixes {
    Bool operand_size, not_equal, repeat; /* 66, F2, F3 */
};

/* Returns how many bytes they are. */
static UInt read_prefixes(const UChar *code, struct prefixes *prefixes)
{
    enum { PREFIXES_MOST = 14 };
    UInt length = 0;

    *prefixes = (struct prefixes){0};
    for (; length < PREFIXES_MOST; length++) {
        switch (code[length]) {
        case 0x66:
            prefixes->operand_size = True;
            break;
        case 0xf2:
            prefixes->not_equal = True;
            break;
        case 0xf3:
            prefixes->repeat = True;
            break;
        case 0x67:
        case 0xf0:
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64 ... 0x65:
        case 0x40 ... 0x4f: /* REX */
            break;
        default:
            return length;
        }
    }
    return length;
}

static Bool has_memory(UChar mod_rm)
{
    return mod_rm >> 6 != 3;
}

static UInt member_of(UChar mod_rm)
{
    return mod_rm >> 3 & 7;
}

/* D8 to DF: all but those that store the control or the status word. */
static Bool is_x87(const UChar *opcode)
{
    Bool stores_control = opcode[0] == 0xd9 && has_memory(opcode[1]) && member_of(opcode[1]) == 7;
    Bool stores_status =
        (opcode[0] == 0xdd && has_memory(opcode[1]) && member_of(opcode[1]) == 7) ||
        (opcode[0] == 0xdf && opcode[1] == 0xe0);

    return opcode[0] >= 0xd8 && opcode[0] <= 0xdf && !stores_control && !stores_status;
}

/* Behind 0F, without a prefix: operands in MMX registers. */
static Bool is_plain_mmx(UChar second, UChar third)
{
    switch (second) {
    case 0x60 ... 0x6b: /* to packed MOVD, MOVQ and EMMS */
    case 0x6e ... 0x77:
    case 0x7e ... 0x7f:
    case 0xc4 ... 0xc5:
    case 0xd1 ... 0xd5:
    case 0xd7 ... 0xe5:
    case 0xe8 ... 0xef:
    case 0xf1 ... 0xf6:
    case 0xf8 ... 0xfe:
        return True;
    case 0x38: /* SSSE3 */
        return third <= 0x0b || (third >= 0x1c && third <= 0x1e);
    case 0x3a: /* PALIGNR */
        return third == 0x0f;
    default:
        return False;
    }
}

static Bool is_mmx(const UChar *opcode, struct prefixes prefixes)
{
    if (prefixes.not_equal || prefixes.repeat)
        return opcode[1] == 0xd6; /* MOVDQ2Q, MOVQ2DQ */
    if (opcode[1] == 0x2a)        /* CVTPI2PS and PD, from memory without an MMX register */
        return !has_memory(opcode[2]);
    if (opcode[1] == 0x2c || opcode[1] == 0x2d) /* CVTPS2PI and the like */
        return True;
    return !prefixes.operand_size && is_plain_mmx(opcode[1], opcode[2]);
}

/* MOVNTPS, MOVNTI, MOVNTQ and MASKMOVQ, and their kin. */
static Bool is_non_temporal_store(UChar second)
{
    return second == 0x2b || second == 0xc3 || second == 0xe7 || second == 0xf7;
}

/* 0F AE and 0F C7: groups told apart by the middle bits of the byte after. */
static const HChar *group(const UChar *opcode, Bool repeat)
{
    static const HChar *const group_ae[] = {"fxsave", "fxrstor",          NULL,     NULL, "xsave",
                                            "xrstor", "xsaveopt or clwb", "clflush"};
    static const HChar *const group_c7[] = {NULL,     NULL,     NULL, "xrstors",
                                            "xsavec", "xsaves", NULL, NULL};
    UInt member = member_of(opcode[2]);

    if (has_memory(opcode[2]))
        return (opcode[1] == 0xae ? group_ae : group_c7)[member];
    if (opcode[1] == 0xae && repeat && (member == 2 || member == 3))
        return "wrfsbase or wrgsbase";
    return NULL;
}

static const HChar *two_bytes(const UChar *opcode, struct prefixes prefixes)
{
    if (opcode[1] == 0xa2)
        return "cpuid";
    if (opcode[1] == 0xae || opcode[1] == 0xc7)
        return group(opcode, prefixes.repeat);
    if (is_non_temporal_store(opcode[1]) && !prefixes.not_equal && !prefixes.repeat)
        return "non-temporal store";
    return is_mmx(opcode, prefixes) ? "mmx" : NULL;
}

/* C5, or C4 with one byte more: AVX. */
static const HChar *vex(const UChar *opcode)
{
    Bool is_long = opcode[0] == 0xc4;
    UInt map = is_long ? opcode[1] & 0x1f : 1, last = is_long ? opcode[2] : opcode[1];
    UChar operation = is_long ? opcode[3] : opcode[2];
    Bool is_256_bits = (last & 4) != 0;

    if (map != 1 || (last & 3) > 1)
        return NULL;
    if (operation == 0x77)
        return is_256_bits ? NULL : "vzeroupper"; /* VZEROALL does no harm */
    return is_non_temporal_store(operation) ? "non-temporal store" : NULL;
}

static const HChar *one_byte(const UChar *opcode, Bool repeat)
{
    switch (opcode[0]) {
    case 0x90: /* else a NOP */
        return repeat ? "pause" : NULL;
    case 0x9b:
    case 0xd8 ... 0xdf:
        return opcode[0] == 0x9b || is_x87(opcode) ? "x87" : NULL;
    case 0x9d:
        return "popf";
    case 0xfd:
        return "std";
    case 0x6c ... 0x6f: /* INS, OUTS */
    case 0xe4 ... 0xe7: /* IN, OUT */
    case 0xec ... 0xef:
    case 0xf4:
        return "port access or hlt";
    case 0xcd:
        return "int";
    case 0xcc:
    case 0xf1:
        return "breakpoint";
    default:
        return NULL;
    }
}

const HChar *unfriendly_name(const UChar *code)
{
    struct prefixes prefixes;

    code += read_prefixes(code, &prefixes);
    if (code[0] == 0x0f)
        return two_bytes(code, prefixes);
    if (code[0] == 0xc4 || code[0] == 0xc5)
        return vex(code);
    return one_byte(code, prefixes.repeat);
}

void unfriendly_before(IRSB *block, const UChar *code, Addr address)
{
    const HChar *name = unfriendly_name(code);
    enum abort_cause cause = ABORT_INSTRUCTION;

    if (name == NULL)
        return;
    if (VG_(strcmp)(name, "breakpoint") == 0)
        cause = ABORT_BREAKPOINT;
    ir_call(block, "rtmgrind_unfriendly", &helper_unfriendly, ir_u64(cause), ir_u64(address));
}

void unfriendly_end(IRSB *block, IRJumpKind jump, IRExpr *guard, Addr address)
{
    enum abort_cause cause;

    switch (jump) {
    case Ijk_Boring:
    case Ijk_Call:
    case Ijk_Ret:
    case Ijk_NoRedir:     /* to a function that Valgrind replaced */
    case Ijk_InvalICache: /* code that was rewritten is translated again: nothing to see */
    case Ijk_FlushDCache:
    case Ijk_EmWarn:
        return;
    case Ijk_ClientReq:
        cause = ABORT_CLIENT_REQUEST;
        break;
    case Ijk_SigTRAP:
        cause = ABORT_BREAKPOINT;
        break;
    case Ijk_Yield:
        cause = ABORT_INSTRUCTION;
        break;
    case Ijk_NoDecode:
    case Ijk_SigILL:
    case Ijk_SigSEGV:
    case Ijk_SigBUS:
    case Ijk_SigFPE:
    case Ijk_SigFPE_IntDiv:
    case Ijk_SigFPE_IntOvf:
        cause = ABORT_FAULT;
        break;
    default:
        cause = ABORT_SYSTEM_CALL;
        break;
    }
    ir_call(block, "rtmgrind_unfriendly", &helper_unfriendly, ir_u64(cause), ir_u64(address))
        ->guard = guard;
}
