/*
 * SPDX-License-Identifier: MIT
 *
 * Who works: the threads of the team stand on a grid of tiles, row by row, and the workers among
 * them are dealt to its four quadrants alike. The others do nothing: they are there so that the
 * number of a thread is that of its tile, and of its core in a simulated machine.
 */
#ifndef BENCH_BANK_TEAM_H
#define BENCH_BANK_TEAM_H

#include <stdbool.h>
#include <stdint.h>

enum { TEAM_MOST = 256, TEAM_QUADRANTS = 4 };

struct worker {
    unsigned number;   /* from 0; neighbours share a quadrant */
    unsigned quadrant; /* 0 and 1 above, 2 and 3 below */
    unsigned index;    /* in its quadrant */
};

struct team {
    unsigned threads, workers;
    unsigned worker_of[TEAM_MOST]; /* of a thread: its number, or TEAM_MOST */
    struct worker worker[TEAM_MOST];
};

/*
 * Width 0: no grid, as many threads as workers, and the quadrants are quarters of them. False: not
 * a multiple of four on a grid, or a quadrant has too few tiles.
 */
bool team_arrange(struct team *team, unsigned workers, unsigned width, unsigned height);

/*
 * A barrier of all workers, the numbers of which are in this order a tree. It is of semaphores, for
 * in a trace the waits of other barriers end with whoever was last when it was recorded, though
 * another may be last in the replay.
 */
void team_prepare(const struct team *team);
void team_gather(const struct team *team, const struct worker *worker);

/* The worker that this thread is, or NULL. */
const struct worker *team_worker(const struct team *team, unsigned thread);

#endif
