/*
 * SPDX-License-Identifier: MIT
 *
 * The list; see figures.h. JSON has them in this order.
 */
#include "cia_malloc/statistics/figures.h"

#include <assert.h>
#include <string.h>

#define TOTAL(field)                                                                               \
    .source = FIGURE_TOTAL, .offset = offsetof(struct cia_totals, field),                          \
    .bytes = sizeof((struct cia_totals){0}.field)

const struct cia_figure cia_figures[CIA_FIGURES] = {
    {"blocks.served", "allocations", "Blocks ever handed out.", true, TOTAL(allocations)},
    {"blocks.allocated", "live_blocks", "Blocks that the program has.", false, TOTAL(live_blocks)},
    {"bytes.allocated", "live_bytes", "Bytes of those, as rounded to their classes.", false,
     TOTAL(live_bytes)},
    {"bytes.run", "run_bytes", "Pages in runs: live blocks and the free ones between them.", false,
     TOTAL(run_bytes)},
    {"bytes.dirty", "dirty_bytes", "Pages in no run that are kept for the next one.", false,
     TOTAL(dirty_bytes)},
    {"bytes.mapped", "mapped_bytes", "All address space taken, the allocator's own data included.",
     false, TOTAL(mapped_bytes)},
    {"blocks.huge", "huge_blocks", "Blocks that are a mapping each.", false, TOTAL(huge_blocks)},
    {"bytes.huge", "huge_bytes", "Bytes of those.", false, TOTAL(huge_bytes)},
    {"bytes.kept", "kept_bytes", "Mappings without a block, kept for the next one.", false,
     TOTAL(kept_bytes)},
    {"bytes.anon_huge_page", "anon_huge_page_bytes",
     "What the process has in huge pages, this allocator's or not.", false,
     .source = FIGURE_HUGE_PAGES},
    {"subheaps", "subheaps", "Sub-heaps.", false, TOTAL(subheaps)},
    {"subheaps.not_counted", "subheaps_not_counted",
     "Sub-heaps left out of the sums, because their holder did not let go.", false,
     TOTAL(passed_over)},
    {"chunks", "chunks", "The sub-heaps' pieces of up to 4 MiB.", false, TOTAL(chunks)},
    {"l1_colours", "l1_colours", "L1 sets that blocks are spread over.", false,
     .source = FIGURE_L1_COLOURS},
};

const struct cia_figure *cia_figure_find(const char *name)
{
    for (unsigned i = 0; i < CIA_FIGURES; i++) {
        if (strcmp(name, cia_figures[i].name) == 0 || strcmp(name, cia_figures[i].key) == 0)
            return &cia_figures[i];
    }
    return NULL;
}

static uint64_t field_of(const struct cia_totals *totals, const struct cia_figure *figure)
{
    const char *field = (const char *)totals + figure->offset;
    uint64_t wide;
    uint32_t narrow;

    static_assert(sizeof(size_t) == sizeof wide, "a field is of one of two widths");
    if (figure->bytes == sizeof narrow) {
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, field, sizeof wide);
    return wide;
}

uint64_t cia_figure_value(const struct cia_figure *figure, const struct cia_totals *totals,
                          const struct cia_facts *facts)
{
    switch (figure->source) {
    case FIGURE_L1_COLOURS:
        return facts->l1_colours;
    case FIGURE_HUGE_PAGES:
        return facts->huge_page_bytes;
    case FIGURE_TOTAL:
        break;
    }
    return field_of(totals, figure);
}
