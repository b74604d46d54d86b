/*
 * SPDX-License-Identifier: MIT
 *
 * What "mplace stats --watch" shows: two looks, as lines that fit.
 */
#ifndef MPLACE_STATS_READER_PAGE_H
#define MPLACE_STATS_READER_PAGE_H

#include "stats_reader/look.h"

enum { PAGE_COLUMNS_MOST = 400, PAGE_ORDERS = 4 };

/* Lines of a screen, or as many as there are. */
struct page {
    bool is_screen; /* each line clears what was there before it; none is longer than the screen */
    int rows, columns;
    int row; /* lines so far */
    size_t length;
    char text[64 << 10];
};

void page_begin(struct page *page, bool is_screen, int rows, int columns);

/* One line: cut to the columns, and left out below the last row. What is no printable ASCII is
 * shown as '?'. */
void page_line(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The rest of the screen is empty. */
void page_end(struct page *page);

/* What of a process is shown, and how. */
struct page_view {
    const struct target *target;
    double seconds; /* between looks */
    int most;       /* classes, and locks; 0: as many as fit */
    int most_locks; /* below 0: as many as classes */
    int order;      /* which column of the two tables is sorted by, 0 to PAGE_ORDERS - 1 */
    const char *message;
};

/* before: the look before; NULL: there is none yet. Without one at the same program there are no
 * rates. */
void page_fill(struct page *page, const struct page_view *view, const struct look *now,
               const struct look *before);

#endif
