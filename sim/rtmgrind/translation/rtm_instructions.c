/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See rtm_instructions.h; Intel SDM volume 2, XABORT to XTEST.
 */
#include "rtmgrind/translation/rtm_instructions.h"

#include "program_calls/ir.h"
#include "virtual_processors/processors.h"
#include "rtmgrind/processors/schedule.h"
#include "rtmgrind/transactions/transaction.h"
#include "rtmgrind/translation/dispatch.h"
#include "rtmgrind/translation/variants.h"

enum { INSTRUCTION_BYTES_MOST = 15, FLAG_ZERO = 1 << 6 };

static Bool is_rex(UChar byte)
{
    return (byte & 0xf0) == 0x40;
}

/* Prefixes that mean nothing here, and those that do. A REX prefix counts only if it comes last. */
struct prefixes {
    UInt length;
    Bool operand_size, repeat, wide;
};

static struct prefixes skip_prefixes(const UChar *code)
{
    struct prefixes prefixes = {0, False, False, False};

    for (; prefixes.length < INSTRUCTION_BYTES_MOST; prefixes.length++) {
        UChar byte = code[prefixes.length];

        if (is_rex(byte)) {
            prefixes.wide = byte >> 3 & 1;
            continue;
        }
        switch (byte) {
        case 0x66:
            prefixes.operand_size = True;
            break;
        case 0xf2: /* XACQUIRE, XRELEASE: hints that are ignored on anything but a locked store */
        case 0xf3:
            prefixes.repeat = True;
            break;
        case 0x26: /* segment overrides, address size */
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0x67:
            break;
        default:
            return prefixes;
        }
        prefixes.wide = False;
    }
    return prefixes;
}

static Long signed_bytes(const UChar *from, UInt size)
{
    if (size == 2)
        return (Short)(from[0] | from[1] << 8);
    return (Int)((UInt)from[0] | (UInt)from[1] << 8 | (UInt)from[2] << 16 | (UInt)from[3] << 24);
}

struct rtm_instruction rtm_recognise(const UChar *code)
{
    struct rtm_instruction found = {RTM_NONE, 0, 0};
    struct prefixes prefixes = skip_prefixes(code);
    const UChar *opcode = code + prefixes.length;

    if (opcode[0] == 0xc7 && opcode[1] == 0xf8) {
        /* The operand size is that of the distance; REX.W wins over 66, and has 32 bits of it. */
        UInt size = prefixes.operand_size && !prefixes.wide ? 2 : 4;
        found.operation = RTM_XBEGIN;
        found.length = prefixes.length + 2 + size;
        found.operand = signed_bytes(opcode + 2, size);
    } else if (opcode[0] == 0xc6 && opcode[1] == 0xf8) {
        found.operation = RTM_XABORT;
        found.length = prefixes.length + 3;
        found.operand = opcode[2];
    } else if (opcode[0] == 0x0f && opcode[1] == 0x01 && (opcode[2] == 0xd5 || opcode[2] == 0xd6)) {
        found.operation = opcode[2] == 0xd5 ? RTM_XEND : RTM_XTEST;
        if (prefixes.operand_size || prefixes.repeat)
            found.operation = RTM_UNDEFINED;
        found.length = prefixes.length + 3;
    }
    if (found.length > INSTRUCTION_BYTES_MOST)
        found.operation = RTM_TOO_LONG;
    return found;
}

/* The helpers. Each runs with all registers in the guest state, RIP excepted. */

/* Returns the address of the next instruction, which it was given; see emit_xbegin. */
static Addr helper_xbegin(Guest *guest, Addr address, Addr fallback, Addr next)
{
    struct transaction *transaction = transaction_running;

    if (transaction == NULL) {
        transaction_begin(processors_mine(), VG_(get_running_tid)(), guest, address, fallback);
        schedule_transaction_begun(guest);
        return next;
    }
    if (transaction->depth == NESTING_MOST) {
        struct abort_event event = {.cause = ABORT_NESTING, .instruction = address};
        dispatch_abort(&event);
    }
    transaction->depth++;
    return next;
}

/* Returns the address of the next instruction, which it was given; 0 if there is nothing to end. */
static Addr helper_xend(Guest *guest, Addr next)
{
    struct transaction *transaction = transaction_running;

    if (transaction == NULL)
        return 0;
    if (--transaction->depth == 0) {
        schedule_count_blocks(guest);
        transaction_commit(transaction);
    }
    return next;
}

static void helper_xabort(ULong code, Addr address)
{
    struct abort_event event = {
        .cause = ABORT_EXPLICIT, .code = (UInt)code, .instruction = address};

    if (transaction_running != NULL)
        dispatch_abort(&event);
}

static ULong helper_xtest(void)
{
    return transaction_running != NULL ? 0 : FLAG_ZERO;
}

/* Returns the address where it goes on, which the helper returned: VEX must not know that it always
 * is the next instruction, or it would go on translating there, in the same block. */
static IRExpr *emit_xbegin(IRSB *block, Addr address, Addr next, Long distance)
{
    IRTemp on = newIRTemp(block->tyenv, Ity_I64);
    Addr fallback = next + (ULong)distance;

    /* From plain code to hooked code; the end of any other block marks its address itself. */
    if (variant_now == VARIANT_PLAIN)
        next = hooked_address(next);
    IRDirty *call = unsafeIRDirty_1_N(
        on, 0, "rtmgrind_xbegin", &helper_xbegin,
        mkIRExprVec_4(IRExpr_GSPTR(), ir_u64(address), ir_u64(fallback), ir_u64(next)));

    ir_uses_all_registers(call);
    addStmtToIRSB(block, IRStmt_Dirty(call));
    return IRExpr_RdTmp(on);
}

/* Returns the address where it goes on, which the helper returned: an address that is not known
 * before gets its mark anew, and the rest is plain if no transaction is active any more. */
static IRExpr *emit_xend(IRSB *block, Addr address, Addr next)
{
    IRTemp on = newIRTemp(block->tyenv, Ity_I64);
    IRTemp outside = newIRTemp(block->tyenv, Ity_I1);
    IRDirty *call = unsafeIRDirty_1_N(on, 0, "rtmgrind_xend", &helper_xend,
                                      mkIRExprVec_2(IRExpr_GSPTR(), ir_u64(next)));

    ir_uses_event_counter(call);
    addStmtToIRSB(block, IRStmt_Dirty(call));
    addStmtToIRSB(block,
                  IRStmt_WrTmp(outside, IRExpr_Binop(Iop_CmpEQ64, IRExpr_RdTmp(on), ir_u64(0))));
    /* #GP: the core delivers it as Linux does. */
    addStmtToIRSB(block, IRStmt_Exit(IRExpr_RdTmp(outside), Ijk_SigSEGV, IRConst_U64(address),
                                     GUEST_OFFSET(RIP)));
    return IRExpr_RdTmp(on);
}

static void emit_xtest(IRSB *block)
{
    IRTemp flags = newIRTemp(block->tyenv, Ity_I64);

    addStmtToIRSB(block, IRStmt_Dirty(unsafeIRDirty_1_N(flags, 0, "rtmgrind_xtest", &helper_xtest,
                                                        mkIRExprVec_0())));
    ir_put_flags(block, IRExpr_RdTmp(flags));
}

/* Appends the end of an instruction. XBEGIN must end its block, for the rest of it would not
 * be hooked; XEND ends it to get rid of the calls that are not needed. */
static struct decoded finish(IRSB *block, IRExpr *next, UInt length, Bool ends_block)
{
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RIP), next));
    return (struct decoded){
        .length = length,
        .next = ends_block ? DECODED_STOP_HERE : DECODED_CONTINUE,
        .hint = DECODED_NO_HINT,
        .jump = ends_block ? Ijk_Boring : Ijk_INVALID,
    };
}

static struct decoded fault(IRSB *block, Addr address, IRJumpKind jump)
{
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(address)));
    return (struct decoded){.next = DECODED_STOP_HERE, .hint = DECODED_NO_HINT, .jump = jump};
}

struct decoded rtm_emit(IRSB *block, const struct rtm_instruction *instruction, Addr address)
{
    Addr behind = address + instruction->length;
    IRExpr *next = ir_u64(behind);

    switch (instruction->operation) {
    case RTM_XBEGIN:
        next = emit_xbegin(block, address, behind, instruction->operand);
        break;
    case RTM_XEND:
        next = emit_xend(block, address, behind);
        break;
    case RTM_XABORT:
        ir_call(block, "rtmgrind_xabort", &helper_xabort, ir_u64((ULong)instruction->operand),
                ir_u64(address));
        break;
    case RTM_XTEST:
        emit_xtest(block);
        break;
    case RTM_UNDEFINED:
        return fault(block, address, Ijk_NoDecode);
    case RTM_TOO_LONG:
        return fault(block, address, Ijk_SigSEGV); /* #GP */
    case RTM_NONE:
        tl_assert(0);
    }
    return finish(block, next, instruction->length,
                  instruction->operation == RTM_XBEGIN || instruction->operation == RTM_XEND);
}
