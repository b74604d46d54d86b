/*
 * SPDX-License-Identifier: MIT
 *
 * See rtm_probe.h. Intel SDM volume 2A, CPUID leaf 7.
 */
#include "ttstle_lock/rtm/rtm_probe.h"

#include "base/settings.h"
#include "ttstle_lock/rtm/rtm.h"

#include <cpuid.h>

enum {
    LEAF_FEATURES = 7,
    EBX_RTM = 1 << 11,
    EDX_RTM_ALWAYS_ABORT = 1 << 11,
    /* One may be hit by an interrupt; so many in a row are a policy of microcode or hypervisor. */
    ATTEMPTS = 16,
};

static bool one_commits(void)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (htm_begin() == HTM_STARTED) {
            htm_end();
            return true;
        }
    }
    return false;
}

enum rtm_verdict rtm_probe(void)
{
    static const char *const choices[] = {"auto", "none"};
    unsigned eax, ebx, ecx, edx;

    if (setting_choice("TTSTLE_HTM", choices, 2, 0) != 0)
        return RTM_SWITCHED_OFF;
    if (!__get_cpuid_count(LEAF_FEATURES, 0, &eax, &ebx, &ecx, &edx))
        return RTM_ABSENT;
    if (edx & EDX_RTM_ALWAYS_ABORT)
        return RTM_ALWAYS_ABORTS;
    if (!(ebx & EBX_RTM))
        return RTM_ABSENT;
    return one_commits() ? RTM_COMMITS : RTM_ALWAYS_ABORTS;
}

const char *rtm_verdict_text(enum rtm_verdict verdict)
{
    switch (verdict) {
    case RTM_COMMITS:
        return "native";
    case RTM_SWITCHED_OFF:
        return "none (TTSTLE_HTM=none)";
    case RTM_ABSENT:
        return "none (this processor has no RTM)";
    case RTM_ALWAYS_ABORTS:
        break;
    }
    return "none (every RTM transaction aborts here)";
}
