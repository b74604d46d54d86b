/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How much a transaction may touch: the models of the caches, one pair a virtual processor.
 *
 * Written lines must stay in the first-level cache. Lines that were only read may leave it: they go
 * to the second level, and are lost when they leave that, too. With --read-lines a plain number of
 * lines bounds what is read instead; that is counted in access.c.
 */
#ifndef RTMGRIND_FOOTPRINT_H
#define RTMGRIND_FOOTPRINT_H

#include "rtmgrind/common/transaction_state.h"

void footprint_init(struct footprint *footprint);

/* What an access cost the transaction. */
enum footprint_verdict { FOOTPRINT_FITS, FOOTPRINT_WRITE_LOST, FOOTPRINT_READ_LOST };

/* The line is accessed and not the most recently used of its set: the slow path. */
enum footprint_verdict footprint_access(struct footprint *footprint, Addr line, Bool store);

/* What the first-level cache knows of the line if it was used last in its set: its marks before
 * this access, or -1. The fast path: most accesses end here. */
static inline int footprint_touch_recent(const struct footprint *footprint, Addr line, Bool store)
{
    return cache_model_touch_recent(&footprint->l1d, line,
                                    store ? CACHE_MODEL_WRITTEN : CACHE_MODEL_READ);
}

void footprint_committed(struct footprint *footprint);
void footprint_aborted(struct footprint *footprint);

#endif
