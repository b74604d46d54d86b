/*
 * SPDX-License-Identifier: MIT
 *
 * Sums over the sub-heaps; see statistics.h.
 */
#include "cia_malloc/statistics.h"

#include "base/exit_report.h"
#include "cia_malloc/heap_table.h"
#include "cia_malloc/huge_cache.h"
#include "cia_malloc/large.h"

#include <unistd.h>

/* The classes, and behind them those of tiny blocks. */
enum { TINY_TOTALS = SIZE_CLASS_COUNT, ALL_TOTALS = TINY_TOTALS + TINY_CLASSES };

/* By class, over all sub-heaps. */
struct class_totals {
    uint64_t allocations, live, capacity;
    uint64_t waiting; /* in magazines: live to the class heap, not to the program */
};

static size_t block_bytes(unsigned i)
{
    return i < TINY_TOTALS ? (size_t)size_class_lines[i] * LINE_BYTES : tiny_bytes(i - TINY_TOTALS);
}

static void add_magazines(const struct magazines *magazines,
                          struct class_totals classes[ALL_TOTALS])
{
    for (unsigned i = 0; magazines != NULL && i < ALL_MAGAZINES; i++) {
        const struct magazine *magazine = &magazines->own[i];
        struct class_totals *of =
            &classes[i < TINY_MAGAZINES ? i : TINY_TOTALS + i - TINY_MAGAZINES];

        of->allocations += magazine_served(magazine);
        of->waiting += magazine_waiting(magazine);
    }
}

static void add_tiny(const struct tiny_heap *heap, struct class_totals classes[TINY_CLASSES])
{
    for (unsigned i = 0; i < TINY_CLASSES; i++) {
        classes[i].allocations += heap->classes[i].allocations;
        classes[i].live += heap->classes[i].live;
        classes[i].capacity += heap->classes[i].pages * (PAGE_BYTES / tiny_bytes(i));
    }
}

static void read_all(struct cia_totals *totals, struct class_totals classes[ALL_TOTALS])
{
    uint32_t index = 0;
    struct subheap *heap;

    *totals = (struct cia_totals){0};
    for (unsigned i = 0; i < ALL_TOTALS; i++)
        classes[i] = (struct class_totals){0};
    if (magazines_use_sequences()) {
        for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++)
            add_magazines(magazines_of(cpu), classes);
    }
    while ((heap = heap_lock_next(&index, ALL_HEAPS, &totals->passed_over)) != NULL) {
        subheap_drain(heap); /* what was freed on another CPU is free */
        if (!magazines_use_sequences())
            add_magazines(heap->magazines, classes);
        for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
            classes[i].allocations += heap->classes[i].allocations;
            classes[i].live += heap->classes[i].live;
            classes[i].capacity += heap->classes[i].capacity;
        }
        add_tiny(&heap->tiny, classes + TINY_TOTALS);
        totals->allocations += heap->large_allocations;
        totals->live_blocks += heap->large_live;
        totals->live_bytes += heap->large_pages_live * PAGE_BYTES;
        totals->run_bytes += (size_t)heap->pages.used_pages * PAGE_BYTES;
        totals->dirty_bytes += (size_t)heap->pages.dirty_pages * PAGE_BYTES;
        totals->chunks += heap->pages.chunk_count;
        totals->subheaps++;
        subheap_unlock(heap);
    }
    for (unsigned i = 0; i < ALL_TOTALS; i++) {
        /* Other threads go on meanwhile: one may have emptied a magazine before its heap was read.
         */
        classes[i].live -=
            classes[i].waiting < classes[i].live ? classes[i].waiting : classes[i].live;
        totals->allocations += classes[i].allocations;
        totals->live_blocks += classes[i].live;
        totals->live_bytes += classes[i].live * block_bytes(i);
    }
    huge_totals(&totals->huge_bytes, &totals->huge_blocks);
    totals->kept_bytes = huge_cache_bytes();
    totals->allocations += huge_allocations();
    totals->live_blocks += totals->huge_blocks;
    totals->live_bytes += totals->huge_bytes;
    totals->chunk_bytes = (size_t)totals->chunks * CHUNK_BYTES;
    totals->mapped_bytes = page_source_mapped_bytes();
}

void cia_totals_read(struct cia_totals *totals)
{
    struct class_totals classes[ALL_TOTALS];

    read_all(totals, classes);
}

void cia_report(struct report *report)
{
    struct cia_totals totals;
    struct class_totals classes[ALL_TOTALS];

    read_all(&totals, classes);
    report_format(report, "mplace: malloc of process %d under libcia_malloc\n", (int)getpid());
    report_format(report, "  allocations     %lu\n", totals.allocations);
    report_format(report, "  live blocks     %lu\n", totals.live_blocks);
    report_format(report, "  live bytes      %zu\n", totals.live_bytes);
    report_format(report, "  run bytes       %zu\n", totals.run_bytes);
    report_format(report, "  dirty bytes     %zu\n", totals.dirty_bytes);
    report_format(report, "  mapped bytes    %zu\n", totals.mapped_bytes);
    report_format(report, "  huge blocks     %zu (%zu bytes)\n", totals.huge_blocks,
                  totals.huge_bytes);
    report_format(report, "  kept bytes      %zu\n", totals.kept_bytes);
    report_format(report, "  AnonHugePages   %zu bytes\n", page_source_huge_bytes());
    report_format(report, "  sub-heaps       %u with %u chunks of 4 MiB, %u L1 colours\n",
                  totals.subheaps, totals.chunks, colours);
    if (totals.passed_over > 0)
        report_format(report, "  not counted     %u sub-heaps in use\n", totals.passed_over);
    report_format(report, "  %10s %14s %10s %10s\n", "block B", "blocks served", "live", "free");
    for (unsigned at = 0; at < ALL_TOTALS; at++) {
        unsigned i = (at + TINY_TOTALS) % ALL_TOTALS; /* the shortest first */

        if (classes[i].allocations > 0)
            report_format(report, "  %10zu %14lu %10lu %10lu\n", block_bytes(i),
                          classes[i].allocations, classes[i].live,
                          classes[i].capacity - classes[i].live);
    }
}

static struct exit_report exit_report;

void cia_statistics_start(void)
{
    exit_report_plan(&exit_report, "CIA_STATS");
}

__attribute__((destructor)) static void report_at_exit(void)
{
    struct report report;

    if (!exit_report_open(&exit_report, &report))
        return;
    cia_report(&report);
    report_close(&report);
}
