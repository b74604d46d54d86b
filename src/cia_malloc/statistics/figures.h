/*
 * SPDX-License-Identifier: MIT
 *
 * The single figures of the allocator: what each is called, and where it is found. The one list of
 * them, for JSON, for mplace_malloc_value and for "mplace stats --prometheus"; docs/statistics.md
 * describes them.
 */
#ifndef MPLACE_CIA_FIGURES_H
#define MPLACE_CIA_FIGURES_H

#include "cia_malloc/statistics/totals.h"

#include <stdbool.h>

/* What is said beside the sums. */
struct cia_facts {
    int process;
    uint32_t l1_colours;
    size_t huge_page_bytes; /* AnonHugePages of the whole process */
};

enum cia_figure_source { FIGURE_TOTAL, FIGURE_L1_COLOURS, FIGURE_HUGE_PAGES };

struct cia_figure {
    const char *name; /* "bytes.allocated": mplace_malloc_value's */
    const char *key;  /* "live_bytes": JSON's, which mplace_malloc_value takes as well */
    const char *help; /* one line */
    bool counts;      /* it only ever grows */
    enum cia_figure_source source;
    size_t offset, bytes; /* of FIGURE_TOTAL: the field of struct cia_totals */
};

enum { CIA_FIGURES = 14 };

extern const struct cia_figure cia_figures[CIA_FIGURES];

/* By its name or its key; NULL: there is none. */
const struct cia_figure *cia_figure_find(const char *name);

uint64_t cia_figure_value(const struct cia_figure *figure, const struct cia_totals *totals,
                          const struct cia_facts *facts);

#endif
