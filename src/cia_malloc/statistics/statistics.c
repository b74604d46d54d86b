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

#include <errno.h>
#include <unistd.h>

/* Of this process; NULL: there are none. */
static void add_magazines(struct cia_summary *summary, const struct magazines *magazines)
{
    if (magazines == NULL)
        return;
    cia_summary_add_magazines(summary, magazines->own);
    cia_summary_add_untouched(summary, magazines->own);
}

static void read_all(struct cia_summary *summary)
{
    struct cia_totals *totals = &summary->totals;
    uint32_t index = 0;
    struct subheap *heap;

    *summary = (struct cia_summary){.totals = {0}};
    if (magazines_use_sequences()) {
        for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++)
            add_magazines(summary, magazines_of(cpu));
    }
    while ((heap = heap_lock_next(&index, ALL_HEAPS, &totals->passed_over)) != NULL) {
        subheap_drain(heap); /* what was freed on another CPU is free */
        if (!magazines_use_sequences())
            add_magazines(summary, heap->magazines);
        cia_summary_add_subheap(summary, heap);
        if (heap->quarantine != NULL)
            cia_summary_add_quarantine(summary, heap->quarantine);
        subheap_unlock(heap);
    }
    totals->huge_bytes = huge_totals.bytes;
    totals->huge_blocks = huge_totals.blocks;
    totals->kept_bytes = huge_cache_bytes();
    totals->mapped_bytes = page_source_mapped_bytes;
    cia_summary_finish(summary, huge_totals.made);
}

void cia_totals_read(struct cia_totals *totals)
{
    struct cia_summary summary;

    read_all(&summary);
    *totals = summary.totals;
}

int64_t cia_statistics_value(const char *name)
{
    const struct cia_figure *figure = cia_figure_find(name);
    struct cia_totals totals = {0};
    struct cia_facts facts = {.l1_colours = colours};
    int saved_errno = errno;

    if (figure == NULL)
        return -1;
    if (figure->source == FIGURE_HUGE_PAGES)
        facts.huge_page_bytes = page_source_huge_bytes();
    if (figure->source == FIGURE_TOTAL)
        cia_totals_read(&totals);
    errno = saved_errno;
    return (int64_t)cia_figure_value(figure, &totals, &facts);
}

static void write_report(struct report *report, bool json)
{
    struct cia_summary summary;
    struct cia_facts facts = {
        .process = (int)getpid(),
        .l1_colours = colours,
        .huge_page_bytes = page_source_huge_bytes(),
    };

    read_all(&summary);
    (json ? cia_write_json : cia_write_text)(report, &facts, &summary);
}

void cia_report(struct report *report)
{
    write_report(report, false);
}

static void publish(void)
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

    live_statistics_publish(&live.header, "libcia_malloc", live_cia_layout(), sizeof live);
}

static struct exit_report exit_report;

void cia_statistics_start(void)
{
    exit_report_plan(&exit_report, "CIA_STATS");
    if (live_statistics_wanted())
        publish();
}

__attribute__((destructor)) static void report_at_exit(void)
{
    struct report report;

    if (!exit_report_open(&exit_report, &report))
        return;
    write_report(&report, exit_report_is_json(&exit_report));
    report_close(&report);
}
