/*
 * SPDX-License-Identifier: MIT
 *
 * Sums and their two forms; see summary.h.
 */
#include "cia_malloc/statistics/summary.h"

#include "base/report.h"

void cia_summary_add_magazines(struct cia_summary *summary, const struct magazine *own)
{
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        summary->classes[i].allocations += magazine_served(&own[i]);
        summary->classes[i].waiting += magazine_cached(&own[i]);
    }
}

void cia_summary_add_subheap(struct cia_summary *summary, const struct subheap *heap,
                             const struct quarantine *quarantine)
{
    struct cia_totals *totals = &summary->totals;

    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        summary->classes[i].allocations += heap->classes[i].allocations;
        summary->classes[i].live += heap->classes[i].live;
        summary->classes[i].capacity += heap->classes[i].capacity;
        summary->classes[i].untouched += heap->classes[i].untouched;
    }
    totals->allocations += heap->large_allocations;
    totals->live_blocks += heap->large_live;
    totals->live_bytes += heap->large_pages_live * PAGE_BYTES;
    totals->run_bytes += (uint64_t)heap->pages.used_pages * PAGE_BYTES;
    totals->dirty_bytes += (uint64_t)heap->pages.dirty_pages * PAGE_BYTES;
    totals->chunks += heap->pages.chunk_count;
    totals->chunk_bytes += (uint64_t)heap->pages.mapped_pages * PAGE_BYTES;
    totals->subheaps++;
    if (quarantine == NULL)
        return;
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++)
        summary->classes[i].waiting += quarantine->waiting[i];
    summary->large_away_blocks += quarantine->waiting[CLASS_LARGE];
    summary->large_away_bytes += quarantine->large_bytes;
}

static uint64_t less(uint64_t from, uint64_t amount)
{
    return from - (amount < from ? amount : from);
}

/* What mallinfo calls small: as long as what glibc keeps in lists of their own. */
enum { SHORT_MOST = 1024 };

void cia_summary_finish(struct cia_summary *summary, const struct huge_totals *huge)
{
    struct cia_totals *totals = &summary->totals;

    totals->live_blocks = less(totals->live_blocks, summary->large_away_blocks);
    totals->live_bytes = less(totals->live_bytes, summary->large_away_bytes);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        struct class_totals *class = &summary->classes[i];

        /* Other threads go on meanwhile: one may have emptied a magazine before its heap was read.
         */
        class->live = less(class->live, class->waiting);
        class->free = less(class->capacity, class->live);
        totals->allocations += class->allocations;
        totals->live_blocks += class->live;
        totals->live_bytes += class->live * size_class_bytes(i);
        uint64_t back = less(class->free, class->untouched);
        if (size_class_bytes(i) <= SHORT_MOST) {
            totals->short_free_blocks += back;
            totals->short_free_bytes += back * size_class_bytes(i);
        } else {
            totals->free_blocks += back;
        }
    }
    totals->free_blocks += summary->large_away_blocks;
    totals->huge_blocks = atomic_load_explicit(&huge->blocks, memory_order_relaxed);
    totals->huge_bytes = atomic_load_explicit(&huge->bytes, memory_order_relaxed);
    totals->allocations += atomic_load_explicit(&huge->made, memory_order_relaxed);
    totals->live_blocks += totals->huge_blocks;
    totals->live_bytes += totals->huge_bytes;
}

/* The class with the shortest blocks that are longer than so many bytes, or SIZE_CLASS_COUNT:
   classes are shown in that order. */
static unsigned class_after(size_t bytes)
{
    unsigned next = SIZE_CLASS_COUNT;

    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        if (size_class_bytes(i) > bytes &&
            (next == SIZE_CLASS_COUNT || size_class_granules[i] < size_class_granules[next]))
            next = i;
    }
    return next;
}

void cia_write_text(struct report *report, const struct cia_summary *summary)
{
    report_format(report, "mplace: malloc of process %d under libcia_malloc\n", summary->process);
    for (unsigned i = 0; i < CIA_FIGURES; i++)
        report_format(report, "  %-21s %lu\n", cia_figures[i].name,
                      cia_figure_value(&cia_figures[i], &summary->totals));
    report_format(report, "  %10s %14s %10s %10s\n", "block B", "blocks served", "live", "free");
    for (unsigned i = class_after(0); i < SIZE_CLASS_COUNT; i = class_after(size_class_bytes(i))) {
        const struct class_totals *class = &summary->classes[i];

        if (class->allocations > 0)
            report_format(report, "  %10zu %14lu %10lu %10lu\n", size_class_bytes(i),
                          class->allocations, class->live, class->free);
    }
}

/* Goes up when a field changes its meaning or goes; new ones may come without that. */
enum { VERSION = 1 };

void cia_write_json(struct report *report, const struct cia_summary *summary)
{
    const char *separator = "\n";

    report_format(report, "{\n  \"version\": %d,\n  \"process\": %d,\n", VERSION, summary->process);
    report_format(report, "  \"library\": \"libcia_malloc\",\n");
    for (unsigned i = 0; i < CIA_FIGURES; i++)
        report_format(report, "  \"%s\": %lu,\n", cia_figures[i].key,
                      cia_figure_value(&cia_figures[i], &summary->totals));
    report_format(report, "  \"classes\": [");
    for (unsigned i = class_after(0); i < SIZE_CLASS_COUNT; i = class_after(size_class_bytes(i))) {
        const struct class_totals *class = &summary->classes[i];

        if (class->allocations == 0)
            continue;
        report_format(
            report, "%s    { \"block_bytes\": %zu, \"served\": %lu, \"live\": %lu, \"free\": %lu }",
            separator, size_class_bytes(i), class->allocations, class->live, class->free);
        separator = ",\n";
    }
    report_format(report, "\n  ]\n}\n");
}
