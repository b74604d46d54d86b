/*
 * SPDX-License-Identifier: MIT
 *
 * What became of the program's transactions, counted from outside of the runtime: the program is
 * linked so that its calls of the ABI of transactional memory pass here. It works with libitm and
 * with any other library of that ABI.
 */
#ifndef BENCH_CACHE_SERVER_TM_COUNTS_H
#define BENCH_CACHE_SERVER_TM_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The paper's three causes of a transaction that runs alone, which exclude each other. */
struct tm_counts {
    uint64_t transactions;     /* outermost ones that committed */
    uint64_t in_flight_switch; /* met unsafe code on their way */
    uint64_t start_serial;     /* would meet it on every way */
    uint64_t abort_serial; /* the runtime gave them precedence, after many aborts for instance */
};

struct tm_site {
    const void *address; /* after the call that begins the transaction */
    struct tm_counts counts;
};

enum { TM_SITES_MOST = 512 };

#if CACHE_STAGE > 0
/* Both while no worker runs. Transactions of other threads may be missing by a few. */
void tm_counts_reset(void);
void tm_counts_read(struct tm_counts *all);

/* The sources of transactions, those with most that ran alone first; returns how many. */
size_t tm_counts_sites(struct tm_site *sites);
#else
static inline void tm_counts_reset(void)
{
}

static inline void tm_counts_read(struct tm_counts *all)
{
    *all = (struct tm_counts){0};
}
#endif

#endif
