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
#include "cia_malloc/heap/subheap.h"
#include "cia_malloc/statistics/figures.h"

/* By class, over all sub-heaps. */
struct class_totals {
    uint64_t allocations, live, capacity;
    uint64_t waiting;   /* in magazines, in quarantine, or in an inbox: live to the class heap,
                         * not to the program
                         */
    uint64_t untouched; /* free and never handed out */
};

/* After cia_summary_finish. */
static inline uint64_t class_free_blocks(const struct class_totals *class)
{
    return class->capacity > class->live ? class->capacity - class->live : 0;
}

struct cia_summary {
    struct cia_totals totals;
    struct class_totals classes[SIZE_CLASS_COUNT];
    uint64_t large_away_blocks, large_away_bytes; /* see cia_summary_take_large */
};

/* From zero. own: of SIZE_CLASS_COUNT. */
void cia_summary_add_magazines(struct cia_summary *summary, const struct magazine *own);
void cia_summary_add_subheap(struct cia_summary *summary, const struct subheap *heap);

/* How many of those in magazines were never handed out: of this process alone. */
void cia_summary_add_untouched(struct cia_summary *summary, const struct magazine *own);

/* Large blocks that are not the program's any more though a sub-heap counts them as live: so many
 * less. Those of classes are counted as cached. */
void cia_summary_take_large(struct cia_summary *summary, uint64_t blocks, uint64_t bytes);

/* What is in the quarantine of a sub-heap. */
struct quarantine;
void cia_summary_add_quarantine(struct cia_summary *summary, const struct quarantine *quarantine);

/* Last, when huge_bytes, huge_blocks, kept_bytes and mapped_bytes are filled in. */
void cia_summary_finish(struct cia_summary *summary, uint64_t huge_allocations);

struct report;
void cia_write_text(struct report *report, const struct cia_facts *facts,
                    const struct cia_summary *summary);
void cia_write_json(struct report *report, const struct cia_facts *facts,
                    const struct cia_summary *summary);

#endif
