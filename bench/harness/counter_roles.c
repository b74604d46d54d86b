/*
 * SPDX-License-Identifier: MIT
 *
 * The table of roles; see counter_roles.h. Intel's names changed with Skylake (RTM_RETIRED's
 * causes) and Ice Lake (TX_MEM); AMD's are Zen 3's. The kernel's generic events come last: where
 * they fit.
 */
#include "harness/counter_roles.h"

#include <string.h>

/*
 * Two TLB roles, for there are two levels: what misses the first and hits the second is the knee of
 * the ring, and the kernel's generic event counts walks alone. An abort's cause as RTM_RETIRED has
 * it: memory accesses are conflicts and capacity together, which TX_MEM then tells apart.
 */
static const struct role {
    const char *name;
    const char *event[3];
} roles[] = {
    {"l1d-misses",
     {"MEM_LOAD_RETIRED:L1_MISS", "MEM_LOAD_UOPS_RETIRED:L1_MISS", "perf::L1-DCACHE-LOAD-MISSES"}},
    {"dtlb-l2-hits",
     {"DTLB_LOAD_MISSES:STLB_HIT",
      "L1_DTLB_MISS:TLB_RELOAD_4K_L2_HIT:TLB_RELOAD_COALESCED_PAGE_HIT:TLB_RELOAD_2M_L2_HIT"}},
    {"dtlb-walks",
     {"DTLB_LOAD_MISSES:WALK_COMPLETED",
      "L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_COALESCED_PAGE_MISS:TLB_RELOAD_2M_L2_MISS"}},
    {"rtm-started", {"RTM_RETIRED:START"}},
    {"rtm-committed", {"RTM_RETIRED:COMMIT"}},
    {"rtm-aborted", {"RTM_RETIRED:ABORTED"}},
    {"rtm-aborted-memory", {"RTM_RETIRED:ABORTED_MEM", "RTM_RETIRED:ABORTED_MISC1"}},
    {"rtm-aborted-uncommon", {"RTM_RETIRED:ABORTED_TMR", "RTM_RETIRED:ABORTED_MISC2"}},
    {"rtm-aborted-unfriendly", {"RTM_RETIRED:ABORTED_UNFRIENDLY", "RTM_RETIRED:ABORTED_MISC3"}},
    {"rtm-aborted-memtype", {"RTM_RETIRED:ABORTED_MEMTYPE", "RTM_RETIRED:ABORTED_MISC4"}},
    {"rtm-aborted-events", {"RTM_RETIRED:ABORTED_EVENTS", "RTM_RETIRED:ABORTED_MISC5"}},
    {"tx-conflict", {"TX_MEM:ABORT_CONFLICT"}},
    {"tx-capacity-write", {"TX_MEM:ABORT_CAPACITY_WRITE", "TX_MEM:ABORT_CAPACITY"}},
    {"tx-capacity-read", {"TX_MEM:ABORT_CAPACITY_READ"}},
};

enum { ROLES = sizeof roles / sizeof *roles, EVENTS = sizeof roles->event / sizeof *roles->event };

const char *counter_role_name(size_t i)
{
    return i < ROLES ? roles[i].name : NULL;
}

const char *counter_role_event(const char *role, size_t i)
{
    for (size_t r = 0; r < ROLES && i < EVENTS; r++)
        if (strcmp(roles[r].name, role) == 0)
            return roles[r].event[i];
    return NULL;
}
