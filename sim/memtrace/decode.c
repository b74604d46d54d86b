/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wrapper around VEX's decoder of one instruction: the processor that RDTSCP and RDPID tell is
 * a virtual one, and flushes of a line. VEX takes CLFLUSH for a change of code and does not know
 * CLFLUSHOPT and CLWB. Here they do nothing, and a hint that VEX keeps has the address for
 * instrument.c.
 */
#include "memtrace/decode.h"

#include "memtrace/instructions.h"

#include "program_calls/core_internals.h"
#include "program_calls/ir.h"
#include "virtual_processors/processor_number.h"

enum {
    INSTRUCTION_BYTES_MOST = 15,
    PREFETCH = 0x18, /* has the same operand and does nothing */
    EMPTY_PREFIX = 0x3e,
};

/* The temporary that was computed last: of a prefetch, the address. */
static IRTemp last_address(const IRSB *block, Int first)
{
    for (Int i = block->stmts_used - 1; i >= first; i--) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag == Ist_WrTmp &&
            typeOfIRTemp(block->tyenv, statement->Ist.WrTmp.tmp) == Ity_I64)
            return statement->Ist.WrTmp.tmp;
    }
    return IRTemp_INVALID;
}

struct decoded __wrap_disInstr_AMD64(DECODE_PARAMETERS)
{
    UChar prefetch[INSTRUCTION_BYTES_MOST];
    Int first = block->stmts_used, flush;
    struct decoded decoded;
    IRStmt *last;
    IRTemp line;
    UInt modrm;

    flush = instruction_flush(code + delta, &modrm);
    if (flush < 0 || modrm >= INSTRUCTION_BYTES_MOST) {
        VexArchInfo host = processor_number_known(architecture_info);

        if (processor_number_decode(block, code + delta, address, &decoded))
            return decoded;
        decoded = __real_disInstr_AMD64(block, code, delta, address, architecture, &host, abi_info,
                                        endness, diagnose);
        processor_number_replace(block, first);
        return decoded;
    }
    VG_(memcpy)(prefetch, code + delta, sizeof prefetch);
    for (UInt i = 0; i < modrm; i++) {
        if (prefetch[i] == 0x66)
            prefetch[i] = EMPTY_PREFIX;
    }
    prefetch[modrm - 1] = PREFETCH;
    prefetch[modrm] &= (UChar)~0x38;
    decoded = __real_disInstr_AMD64(block, prefetch - delta, delta, address, architecture,
                                    architecture_info, abi_info, endness, diagnose);
    line = last_address(block, first);
    if (line == IRTemp_INVALID)
        return decoded;
    /* VEX wants an instruction to end by setting the instruction pointer. */
    last = block->stmts[--block->stmts_used];
    addStmtToIRSB(block,
                  IRStmt_AbiHint(IRExpr_RdTmp(line), 1, ir_u64(DECODE_FLUSH_MARK + (ULong)flush)));
    addStmtToIRSB(block, last);
    return decoded;
}

Int decode_flush_of(const IRStmt *statement)
{
    const IRExpr *mark;

    if (statement->tag != Ist_AbiHint)
        return -1;
    mark = statement->Ist.AbiHint.nia;
    if (mark->tag != Iex_Const || mark->Iex.Const.con->tag != Ico_U64 ||
        mark->Iex.Const.con->Ico.U64 - DECODE_FLUSH_MARK > 0xff)
        return -1;
    return (Int)(mark->Iex.Const.con->Ico.U64 - DECODE_FLUSH_MARK);
}
