/*
 * SPDX-License-Identifier: MIT
 *
 * The list; see figures.h. JSON has them in this order.
 */
#include "cia_malloc/statistics/figures.h"

#include <string.h>

#define AT(field) offsetof(struct cia_totals, field)

const struct cia_figure cia_figures[CIA_FIGURES] = {
    {"blocks.served", "allocations", "Blocks ever handed out.", true, AT(allocations)},
    {"blocks.allocated", "live_blocks", "Blocks that the program has.", false, AT(live_blocks)},
    {"bytes.allocated", "live_bytes", "Bytes of those, as rounded to their classes.", false,
     AT(live_bytes)},
    {"bytes.run", "run_bytes", "Pages in runs: live blocks and the free ones between them.", false,
     AT(run_bytes)},
    {"bytes.dirty", "dirty_bytes", "Pages in no run that are kept for the next one.", false,
     AT(dirty_bytes)},
    {"bytes.mapped", "mapped_bytes", "All address space taken, the allocator's own data included.",
     false, AT(mapped_bytes)},
    {"blocks.huge", "huge_blocks", "Blocks that are a mapping each.", false, AT(huge_blocks)},
    {"bytes.huge", "huge_bytes", "Bytes of those.", false, AT(huge_bytes)},
    {"bytes.kept", "kept_bytes", "Mappings without a block, kept for the next one.", false,
     AT(kept_bytes)},
    {"bytes.anon_huge_page", "anon_huge_page_bytes",
     "What the process has in huge pages, this allocator's or not.", false,
     AT(anon_huge_page_bytes)},
    {"subheaps", "subheaps", "Sub-heaps.", false, AT(subheaps)},
    {"subheaps.not_counted", "subheaps_not_counted",
     "Sub-heaps left out of the sums, because their holder did not let go.", false,
     AT(subheaps_not_counted)},
    {"chunks", "chunks", "The sub-heaps' pieces of up to 4 MiB.", false, AT(chunks)},
    {"l1_colours", "l1_colours", "L1 sets that blocks are spread over.", false, AT(l1_colours)},
};

const struct cia_figure *cia_figure_find(const char *name)
{
    for (unsigned i = 0; i < CIA_FIGURES; i++) {
        if (strcmp(name, cia_figures[i].name) == 0 || strcmp(name, cia_figures[i].key) == 0)
            return &cia_figures[i];
    }
    return NULL;
}

uint64_t cia_figure_value(const struct cia_figure *figure, const struct cia_totals *totals)
{
    uint64_t value;

    memcpy(&value, (const char *)totals + figure->offset, sizeof value);
    return value;
}
