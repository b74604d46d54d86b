/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See identity.h. Everything that CPUID says comes from VEX (features that it can translate), but
 * for what is changed here.
 */
#include "rtmgrind/translation/identity.h"

#include "program_calls/ir.h"
#include "rtmgrind/common/options.h"
#include "virtual_processors/processors.h"

enum {
    /* Ice Lake-SP: a processor with RTM that glibc and libitm trust. VEX says Haswell, whose RTM is
     * broken and which they therefore refuse. */
    SIGNATURE = 0x606a6,
    LEAF_SIGNATURE = 1,
    LEAF_CACHES = 4,
    LEAF_FEATURES = 7,
    EBX_RTM = 1 << 11,
    ECX_RDPID = 1 << 22,
    EDX_RTM_ALWAYS_ABORT = 1 << 11,
    CACHE_L1D = 0, /* VEX lists the caches as Haswell does: data, instructions, second level */
    CACHE_L2 = 2,
};

/* The helpers of VEX that give CPUID's answer take the guest state and up to three settings. */
typedef void (*CpuidHelper)(Guest *guest, ULong a, ULong b, ULong c);

static CpuidHelper vex_cpuid;

static void describe_cache(Guest *guest, const struct cache_model_geometry *geometry)
{
    guest->guest_RBX = (ULong)(geometry->ways - 1) << 22 | (geometry->line - 1);
    guest->guest_RCX = geometry->sets - 1;
}

static void helper_cpuid(Guest *guest, ULong a, ULong b, ULong c)
{
    UInt leaf = (UInt)guest->guest_RAX, subleaf = (UInt)guest->guest_RCX;

    vex_cpuid(guest, a, b, c);
    if (leaf == 0 && guest->guest_RAX < LEAF_FEATURES)
        guest->guest_RAX = LEAF_FEATURES;
    if (leaf == LEAF_SIGNATURE)
        guest->guest_RAX = SIGNATURE;
    if (leaf == LEAF_CACHES && subleaf == CACHE_L1D)
        describe_cache(guest, &options.l1d);
    if (leaf == LEAF_CACHES && subleaf == CACHE_L2)
        describe_cache(guest, &options.l2);
    if (leaf == LEAF_FEATURES && subleaf == 0) {
        guest->guest_RBX = (guest->guest_RBX & ~(ULong)EBX_RTM) | (options.rtm ? EBX_RTM : 0);
        guest->guest_RCX |= ECX_RDPID;
        guest->guest_RDX &= ~(ULong)EDX_RTM_ALWAYS_ABORT;
    }
}

/* As RDTSCP (processor_number.c). */
static ULong helper_rdpid(void)
{
    return (ULong)processors_mine();
}

void identity_replace(IRDirty *call)
{
    static const HChar cpuid[] = "amd64g_dirtyhelper_CPUID";

    if (VG_(strncmp)(call->cee->name, cpuid, sizeof cpuid - 1) == 0) {
        vex_cpuid = (CpuidHelper)call->cee->addr;
        call->cee->addr = (void *)&helper_cpuid;
    }
}

Bool identity_decode(IRSB *block, const UChar *code, Addr address, struct decoded *decoded)
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
    addStmtToIRSB(block, IRStmt_Dirty(unsafeIRDirty_1_N(cpu, 0, "rtmgrind_rdpid", &helper_rdpid,
                                                        mkIRExprVec_0())));
    /* The general registers lie in a row, in the order of their numbers. */
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RAX) + 8 * (Int)number, IRExpr_RdTmp(cpu)));
    addStmtToIRSB(block, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(address + length)));
    *decoded = (struct decoded){
        .length = length, .next = DECODED_CONTINUE, .hint = DECODED_NO_HINT, .jump = Ijk_INVALID};
    return True;
}
