/*
 * SPDX-License-Identifier: MIT
 *
 * The list; see figures.h. JSON has them in this order.
 */
#include "cia_malloc/statistics/figures.h"

#include <string.h>

/* JSON has the names of the fields. */
#define FIELD(field) #field, offsetof(struct cia_totals, field)

const struct cia_figure cia_figures[CIA_FIGURES] = {
    {"blocks.served", FIELD(allocations), "Blocks ever handed out.", true},
    {"blocks.allocated", FIELD(live_blocks), "Blocks that the program has.", false},
    {"bytes.allocated", FIELD(live_bytes), "Bytes of those, as rounded to their classes.", false},
    {"bytes.run", FIELD(run_bytes), "Pages in runs: live blocks and the free ones between them.",
     false},
    {"bytes.dirty", FIELD(dirty_bytes), "Pages in no run that are kept for the next one.", false},
    {"bytes.mapped", FIELD(mapped_bytes),
     "All address space taken, the allocator's own data included.", false},
    {"blocks.huge", FIELD(huge_blocks), "Blocks that are a mapping each.", false},
    {"bytes.huge", FIELD(huge_bytes), "Bytes of those.", false},
    {"bytes.kept", FIELD(kept_bytes), "Mappings without a block, kept for the next one.", false},
    {"bytes.anon_huge_page", FIELD(anon_huge_page_bytes),
     "What the process has in huge pages, this allocator's or not.", false},
    {"subheaps", FIELD(subheaps), "Sub-heaps.", false},
    {"subheaps.not_counted", FIELD(subheaps_not_counted),
     "Sub-heaps left out of the sums, because their holder did not let go.", false},
    {"chunks", FIELD(chunks), "The sub-heaps' pieces of up to 4 MiB.", false},
    {"l1_colours", FIELD(l1_colours), "L1 sets that blocks are spread over.", false},
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
    return *(const uint64_t *)(const void *)((const char *)totals + figure->offset);
}
