/*
 * SPDX-License-Identifier: MIT
 *
 * What is in use, added up and written down: from sub-heaps and magazines, the process's own or
 * copies of another one's (see shared_statistics.h), to totals, to text for people or JSON for
 * programs. docs/statistics.md describes both.
 */
#ifndef MPLACE_CIA_SUMMARY_H
#define MPLACE_CIA_SUMMARY_H

#include "cia_malloc/cpu_cache/magazine.h"
#include "cia_malloc/hardened/quarantine.h"
#include "cia_malloc/heap/subheap.h"
#include "cia_malloc/large/huge_mapping.h"
#include "cia_malloc/statistics/figures.h"

/* By class, over all sub-heaps. */
struct class_totals {
    uint64_t allocations, live, capacity;
    uint64_t waiting;   /* in magazines, in quarantine, or in an inbox: live to the class heap,
                         * not to the program
                         */
    uint64_t untouched; /* free and never handed out: 0 from another process's magazines */
    uint64_t free;      /* after cia_summary_finish */
};

struct cia_summary {
    int process;
    struct cia_totals totals;
    struct class_totals classes[SIZE_CLASS_COUNT];
    /* Large blocks that are not the program's any more though a sub-heap counts them as live. Those
       of classes are waiting. */
    uint64_t large_away_blocks, large_away_bytes;
};

/* From zero. own: of SIZE_CLASS_COUNT. */
void cia_summary_add_magazines(struct cia_summary *summary, const struct magazine *own);

/* quarantine: the sub-heap's, or NULL. */
void cia_summary_add_subheap(struct cia_summary *summary, const struct subheap *heap,
                             const struct quarantine *quarantine);

/* Last but for kept_bytes, mapped_bytes, anon_huge_page_bytes and l1_colours, which are filled in
   by the caller. */
void cia_summary_finish(struct cia_summary *summary, const struct huge_totals *huge);

struct report;
void cia_write_text(struct report *report, const struct cia_summary *summary);
void cia_write_json(struct report *report, const struct cia_summary *summary);

#endif
