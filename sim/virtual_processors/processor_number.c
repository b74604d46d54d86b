/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See processor_number.h. VEX does not know RDPID, and RDTSCP only where the host has it, though
 * its CPUID names it everywhere.
 */
#include "virtual_processors/processor_number.h"

#include "program_calls/ir.h"
#include "virtual_processors/processors.h"

#include <x86intrin.h>

enum { LEAF_FEATURES = 7, ECX_RDPID = 1 << 22 };

/* The helpers of VEX that give CPUID's answer take the guest state and up to three settings. */
typedef void (*CpuidHelper)(Guest *guest, ULong a, ULong b, ULong c);

static CpuidHelper cpuid_before;

static void helper_cpuid(Guest *guest, ULong a, ULong b, ULong c)
{
    UInt leaf = (UInt)guest->guest_RAX, subleaf = (UInt)guest->guest_RCX;

    cpuid_before(guest, a, b, c);
    if (leaf == 0 && guest->guest_RAX < LEAF_FEATURES)
        guest->guest_RAX = LEAF_FEATURES;
    if (leaf == LEAF_FEATURES && subleaf == 0)
        guest->guest_RCX |= ECX_RDPID;
}

/* Linux keeps node << 12 | processor where these two find it; there is one node. */
static ULong helper_rdpid(void)
{
    return (ULong)processors_mine();
}

static void helper_rdtscp(Guest *guest)
{
    ULong time = __rdtsc();

    guest->guest_RAX = (UInt)time;
    guest->guest_RDX = time >> 32;
    guest->guest_RCX = helper_rdpid();
}

VexArchInfo processor_number_known(const VexArchInfo *host)
{
    VexArchInfo told = *host;

    told.hwcaps |= VEX_HWCAPS_AMD64_RDTSCP;
    return told;
}

void processor_number_replace(const IRSB *block, Int first)
{
    static const HChar cpuid[] = "amd64g_dirtyhelper_CPUID";

    for (Int i = first; i < block->stmts_used; i++) {
        IRCallee *callee;

        if (block->stmts[i]->tag != Ist_Dirty)
            continue;
        callee = block->stmts[i]->Ist.Dirty.details->cee;
        if (VG_(strcmp)(callee->name, "amd64g_dirtyhelper_RDTSCP") == 0) {
            callee->addr = (void *)&helper_rdtscp;
        } else if (VG_(strncmp)(callee->name, cpuid, sizeof cpuid - 1) == 0) {
            cpuid_before = (CpuidHelper)callee->addr;
            callee->addr = (void *)&helper_cpuid;
        }
    }
}

Bool processor_number_decode(IRSB *block, const UChar *code, Addr address, struct decoded *decoded)
{
    UInt length = 1;
    UInt high = 0;

    /* F3 [REX] 0F C7 /7 with a register */
    if (code[0] != 0xf3)
        return False;
    if ((code[length] & 0xf0) == 0x40)
        high = (UInt)(code[length++] & 1) << 3;
    if (code[length] != 0x0f || code[length + 1] != 0xc7 || (code[length + 2] & 0xf8) != 0xf8)
        return False;
    UInt number = high | (code[length + 2] & 7);
    length += 3;

    IRTemp cpu = newIRTemp(block->tyenv, Ity_I64);
    addStmtToIRSB(block, IRStmt_Dirty(unsafeIRDirty_1_N(cpu, 0, "processor_number_rdpid",
                                                        &helper_rdpid, mkIRExprVec_0())));
    /* The general registers lie in a row, in the order of their numbers. */
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RAX) + 8 * (Int)number, IRExpr_RdTmp(cpu)));
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(address + length)));
    *decoded = (struct decoded){
        .length = length, .next = DECODED_CONTINUE, .hint = DECODED_NO_HINT, .jump = Ijk_INVALID};
    return True;
}
