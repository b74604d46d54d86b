/*
 * SPDX-License-Identifier: MIT
 *
 * Which page of memory moves from one slab class to another: who asks for a move, and who has to
 * know of one. The thread that moves it is rebalance's, and holds rebalance_lock whenever it does
 * not wait for work: whoever else wants to change anything here tries the lock, for other locks
 * come before it.
 */
#ifndef BENCH_CACHE_SERVER_SLAB_MOVES_H
#define BENCH_CACHE_SERVER_SLAB_MOVES_H

#include "item.h"
#include "locks.h"

enum { SIGNAL_NONE, SIGNAL_WANTED, SIGNAL_MOVING };

extern flag_lock rebalance_lock;
extern struct wake rebalance_wake;
extern shared_unsigned rebalance_signal;
extern shared_unsigned moving_page; /* its number and 1; 0: no page moves */

/* Its classes are rebalance_lock's, all of it the cache lock's and the slabs lock's. */
struct slab_move {
    unsigned from, to;
    char *begin, *end, *at;
    unsigned busy;
    bool done;
};
extern struct slab_move slab_move;

/*
 * Asks for a page for the class, from the class with most pages. Nothing happens while another page
 * moves or the hash table grows, or if no class has two pages. Called under the cache lock.
 */
SAFE_FROM_ON_COMMIT void slabs_reassign(unsigned class);

/* Whether the item is in the page that moves. */
SAFE_FROM_MAX bool rebalance_covers(const struct item *item);

/* No page is moved between the two. */
void rebalance_pause(void);
void rebalance_resume(void);

#endif
