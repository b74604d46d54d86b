/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See identity.h. Everything that CPUID says comes from VEX (features that it can translate), but
 * for what is changed here and in processor_number.c.
 */
#include "rtmgrind/translation/identity.h"

#include "rtmgrind/common/options.h"

enum {
    /* Ice Lake-SP: a processor with RTM that glibc and libitm trust. VEX says Haswell, whose RTM is
     * broken and which they therefore refuse. */
    SIGNATURE = 0x606a6,
    LEAF_SIGNATURE = 1,
    LEAF_CACHES = 4,
    LEAF_FEATURES = 7,
    EBX_RTM = 1 << 11,
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
    if (leaf == LEAF_SIGNATURE)
        guest->guest_RAX = SIGNATURE;
    if (leaf == LEAF_CACHES && subleaf == CACHE_L1D)
        describe_cache(guest, &options.l1d);
    if (leaf == LEAF_CACHES && subleaf == CACHE_L2)
        describe_cache(guest, &options.l2);
    if (leaf == LEAF_FEATURES && subleaf == 0) {
        guest->guest_RBX = (guest->guest_RBX & ~(ULong)EBX_RTM) | (options.rtm ? EBX_RTM : 0);
        guest->guest_RDX &= ~(ULong)EDX_RTM_ALWAYS_ABORT;
    }
}

void identity_replace(IRDirty *call)
{
    static const HChar cpuid[] = "amd64g_dirtyhelper_CPUID";

    if (VG_(strncmp)(call->cee->name, cpuid, sizeof cpuid - 1) == 0) {
        vex_cpuid = (CpuidHelper)call->cee->addr;
        call->cee->addr = (void *)&helper_cpuid;
    }
}
