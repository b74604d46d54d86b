/*
 * SPDX-License-Identifier: MIT
 *
 * Whether this process can use RTM, and if not, why not.
 */
#ifndef MPLACE_RTM_PROBE_H
#define MPLACE_RTM_PROBE_H

enum rtm_verdict {
    RTM_COMMITS,       /* an empty transaction has committed */
    RTM_SWITCHED_OFF,  /* TTSTLE_HTM=none */
    RTM_ABSENT,        /* CPUID does not show it */
    RTM_ALWAYS_ABORTS, /* microcode says that every transaction aborts, or every one of ours did */
};

/* Reads TTSTLE_HTM, asks CPUID, tries; executes no RTM instruction where CPUID shows none. */
enum rtm_verdict rtm_probe(void);

/* "native", or "none (...)" with the reason. */
const char *rtm_verdict_text(enum rtm_verdict verdict);

#endif
