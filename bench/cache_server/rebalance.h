/*
 * SPDX-License-Identifier: MIT
 *
 * The thread that moves a page of memory from one slab class to another: it unlinks the items that
 * are in the page, a few at a time, and comes back later for those that are in use.
 */
#ifndef BENCH_CACHE_SERVER_REBALANCE_H
#define BENCH_CACHE_SERVER_REBALANCE_H

#include <stdbool.h>

bool rebalance_start_thread(void);
void rebalance_stop_thread(void);

#endif
