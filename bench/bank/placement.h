/*
 * SPDX-License-Identifier: MIT
 *
 * Where the data of each worker lie, a page of 8 KiB at a time: the policies that Chandru and
 * Mueller compare ("Reducing NoC and Memory Contention for Manycores"). All but "malloc" ask
 * libbank_malloc.so, which has to be preloaded.
 */
#ifndef BENCH_BANK_PLACEMENT_H
#define BENCH_BANK_PLACEMENT_H

#include "team.h"

#include <stddef.h>
#include <stdint.h>

enum { PAGE_BYTES = 8192 };

enum policy_kind {
    POLICY_MALLOC,    /* malloc of the thread decides */
    POLICY_COLOURS,   /* N colours of the near controller; bank b has colour b mod N */
    POLICY_ONLY,      /* N banks of the near controller, one a thread */
    POLICY_LOCAL,     /* banks of the near controller at random; with N, the first N */
    POLICY_OPPOSITE,  /* the thread's bank of the controller across */
    POLICY_ONE_NODE,  /* of the first controller for all */
    POLICY_TWO_NODES, /* of the first two */
    POLICY_CIRCULAR   /* of all controllers, page by page */
};

struct placement {
    enum policy_kind kind;
    unsigned count; /* N, or 0 */
    uint32_t controllers, banks;
    uint64_t seed;
};

/* "colours-4", "only-4", "local", "local-5", "opposite", ... False: no such policy. */
bool placement_parse(struct placement *placement, const char *text);

/* Finds the library. NULL, or what is wrong. */
const char *placement_start(struct placement *placement, uint64_t seed);

/*
 * The worker's page number `page` as the policy has it. Called by the worker's own thread. NULL:
 * out of memory, or the bank has none left. The memory stays until the process ends.
 */
void *placement_page(const struct placement *placement, const struct worker *worker, size_t page);

/* Pages that were asked for so far at a bank, and those of them that the library says are not
 * there. */
void placement_counts(uint64_t *asked, uint64_t *elsewhere);

/* Which bank this is in; false: nobody knows. */
bool placement_of(const void *page, uint32_t *controller, uint32_t *bank);

#endif
