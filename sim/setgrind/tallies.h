/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is counted for the blocks of one origin, and for the blocks of one size: visits, misses, and
 * in which sets the hot ones began.
 *
 * A visit is an access to a line that is not the one the thread was at before. Time is counted in
 * visits and cut into windows; a block is hot in a window if its first line is visited twice in it.
 * Of each tally the window with most conflict misses is kept, or with most hot blocks where there
 * were none.
 */
#ifndef SETGRIND_TALLIES_H
#define SETGRIND_TALLIES_H

#include "setgrind.h"

/* Some times what the cache holds, so that what is walked in turns is met again; and short enough
 * that what was hot at different times is not taken for hot together. */
enum { WINDOW_VISITS = 1 << 14 };

struct hot_window {
    UInt number;   /* from 1; 0: none */
    Int conflicts; /* misses less those of the fully associative cache */
    UInt hot;
    UShort *by_set; /* hot blocks by the set of their first line; NULL: none yet */
};

struct counts {
    ULong visits;
    ULong misses;      /* of the set-associative cache */
    ULong full_misses; /* of the fully associative one */
    ULong within; /* misses of the first and not of the second, where the block's own lines fill
                   * half of the set: no place of the block would change that */
};

struct tally {
    struct counts all, first; /* the second: first lines of blocks alone */
    ULong allocated, live, live_most;
    SizeT size_least, size_most;
    struct hot_window now, worst;
};

struct visit {
    Bool miss, full_miss, within, first;
    Bool heats; /* the block becomes hot in this window by it */
    UInt set;
};

extern UInt tallies_window; /* the number of the present window */

/* The tally of the blocks of about this size: to 16 bytes up to 1 KiB, to a sixteenth above. */
struct tally *tallies_of_size(SizeT size);

void tallies_allocated(struct tally *tally, SizeT size);
void tallies_freed(struct tally *tally);
void tallies_visited(struct tally *tally, const struct visit *visit);

/* No more visits come: the last window counts, too. */
void tallies_finish(struct tally *tally);

/* Forgets what was counted, not which blocks live. */
void tallies_reset(struct tally *tally);
void tallies_reset_sizes(void);

void tallies_count(struct counts *counts, const struct visit *visit);

/* Calls it with every size's tally that has seen a block, from the smallest size on; the number is
 * the same in all runs. */
void tallies_each_size(void (*report)(struct tally *tally, UInt number, void *argument),
                       void *argument);

#endif
