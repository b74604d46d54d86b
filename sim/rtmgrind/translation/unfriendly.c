/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See unfriendly.h. The Intel SDM (volume 1, "Guidelines for software", RTM and HLE) lists
 * instructions that always abort (CPUID, PAUSE) and those that may, depending on the processor. Of
 * the second group these are taken to abort: what changes the state that XSAVE knows about as a
 * whole, what flushes cache lines, writes to segment bases, software interrupts and port access.
 * Work on x87 and MMX registers and stores with a non-temporal hint are taken to be fine.
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

static Bool is_prefix(UChar byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 ||
           byte == 0x65 || (byte & 0xf0) == 0x40;
}

/* 0F AE and 0F C7: groups told apart by the middle bits of the byte after. */
static Bool group_aborts(const UChar *opcode, Bool repeat)
{
    UInt member = opcode[2] >> 3 & 7;
    Bool memory = opcode[2] >> 6 != 3;

    if (opcode[1] == 0xae) {
        if (memory) /* FXRSTOR, XSAVE, XRSTOR, XSAVEOPT and CLWB, CLFLUSH and CLFLUSHOPT */
            return member == 1 || member >= 4;
        return repeat && (member == 2 || member == 3); /* WRFSBASE, WRGSBASE */
    }
    return memory && member >= 3 && member <= 5; /* XRSTORS, XSAVEC, XSAVES */
}

static Bool two_byte_aborts(const UChar *opcode, Bool repeat)
{
    switch (opcode[1]) {
    case 0xa2: /* CPUID */
        return True;
    case 0xae:
    case 0xc7:
        return group_aborts(opcode, repeat);
    default:
        return False;
    }
}

static Bool one_byte_aborts(UChar opcode, Bool repeat)
{
    switch (opcode) {
    case 0x90: /* PAUSE with F3, else a NOP */
        return repeat;
    case 0x6c ... 0x6f: /* INS, OUTS */
    case 0xe4 ... 0xe7: /* IN, OUT */
    case 0xec ... 0xef:
    case 0xcd: /* INT n */
    case 0xf4: /* HLT */
        return True;
    default:
        return False;
    }
}

static UInt prefixes_of(const UChar *code, Bool *repeat)
{
    enum { PREFIXES_MOST = 14 };
    UInt length = 0;

    *repeat = False;
    for (; length < PREFIXES_MOST && is_prefix(code[length]); length++)
        *repeat = *repeat || code[length] == 0xf3;
    return length;
}

const HChar *unfriendly_name(const UChar *code)
{
    static const HChar *const group_ae[] = {"",       "fxrstor",          "",       "", "xsave",
                                            "xrstor", "xsaveopt or clwb", "clflush"};
    static const HChar *const group_c7[] = {"", "", "", "xrstors", "xsavec", "xsaves", "", ""};
    Bool repeat;

    code += prefixes_of(code, &repeat);
    if (code[0] == 0x90)
        return "pause";
    if (code[0] == 0xcd)
        return "int";
    if (code[0] != 0x0f)
        return "port access or hlt";
    if (code[1] == 0xa2)
        return "cpuid";
    if (code[1] == 0xae && code[2] >> 6 == 3)
        return "wrfsbase or wrgsbase";
    return (code[1] == 0xae ? group_ae : group_c7)[code[2] >> 3 & 7];
}

void unfriendly_before(IRSB *block, const UChar *code, Addr address)
{
    Bool repeat, aborts;
    enum abort_cause cause = ABORT_INSTRUCTION;

    code += prefixes_of(code, &repeat);
    if (code[0] == 0x0f) {
        aborts = two_byte_aborts(code, repeat);
    } else if (code[0] == 0xcc || code[0] == 0xf1) { /* INT3, INT1 */
        cause = ABORT_BREAKPOINT;
        aborts = True;
    } else {
        aborts = one_byte_aborts(code[0], repeat);
    }
    if (aborts)
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
