/*
 * SPDX-License-Identifier: MIT
 *
 * Sums over the sub-heaps, and who gets them; see statistics.h.
 */
#include "cia_malloc/statistics/statistics.h"

#include "base/exit_report.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/statistics/shared_statistics.h"
#include "cia_malloc/statistics/summary.h"

#include <unistd.h>

/* Of this process; NULL: there are none. */
static void add_magazines(struct cia_summary *summary, const struct magazines *magazines)
{
    if (magazines == NULL)
        return;
    cia_summary_add_magazines(summary, magazines->own->of_class);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        summary->classes[i].untouched += magazine_cached_untouched(&magazines->own->of_class[i]);
}

static void read_all(struct cia_summary *summary)
{
    struct cia_totals *totals = &summary->totals;
    uint32_t index = 0, passed_over = 0;
    struct subheap *heap;

    *summary = (struct cia_summary){.process = (int)getpid()};
    if (magazines_use_sequences()) {
        for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++)
            add_magazines(summary, magazines_of(cpu));
    }
    while ((heap = heap_lock_next(&index, ALL_HEAPS, &passed_over)) != NULL) {
        subheap_drain(heap); /* what was freed on another CPU is free */
        if (!magazines_use_sequences())
            add_magazines(summary, heap->magazines);
        cia_summary_add_subheap(summary, heap, heap->quarantine);
        subheap_unlock(heap);
    }
    totals->subheaps_not_counted = passed_over;
    totals->kept_bytes = huge_cache_bytes();
    totals->mapped_bytes = atomic_load_explicit(&page_source_mapped_bytes, memory_order_relaxed);
    totals->l1_colours = colours;
    cia_summary_finish(summary, &huge_totals);
}

struct cia_totals cia_totals_read(void)
{
    struct cia_summary summary;

    read_all(&summary);
    return summary.totals;
}

struct cia_totals cia_report(struct report *report, bool json)
{
    struct cia_summary summary;

    read_all(&summary);
    summary.totals.anon_huge_page_bytes = page_source_huge_bytes();
    (json ? cia_write_json : cia_write_text)(report, &summary);
    return summary.totals;
}

static struct exit_report exit_report;

void cia_statistics_start(void)
{
    struct live_cia live = {
        .heap_table = (uintptr_t)heap_table,
        .magazines = (uintptr_t)magazines_published,
        .sequences = (uintptr_t)&magazine_sequences,
        .mapped_bytes = (uintptr_t)&page_source_mapped_bytes,
        .colours = (uintptr_t)&colours,
        .huge = (uintptr_t)&huge_totals,
        .kept = (uintptr_t)huge_cache,
    };

    exit_report_plan(&exit_report, "CIA_STATS");
    if (live_statistics_wanted())
        live_statistics_publish(&live.header, "libcia_malloc", sizeof live);
}

__attribute__((destructor)) static void report_at_exit(void)
{
    struct report report;

    if (!exit_report_open(&exit_report, &report))
        return;
    (void)cia_report(&report, exit_report_is_json(&exit_report));
    exit_report_close(&exit_report, &report);
}
