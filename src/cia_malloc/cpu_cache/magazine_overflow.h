/*
 * SPDX-License-Identifier: MIT
 *
 * Slow path of free for blocks that may be cached: what to do when the loaded magazine has no
 * place. Puts the loaded one aside, flushes it, or returns the block to its owner: by flush.c, and
 * where that is another CPU's sub-heap by its inbox, heap/remote_free/inbox.c.
 */
#ifndef MPLACE_CIA_MAGAZINE_OVERFLOW_H
#define MPLACE_CIA_MAGAZINE_OVERFLOW_H

#include "cia_malloc/pages/page_map.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * By sequences: finds a place for a block that begins at the address, on a page of that info, in
 * this CPU's magazine, which did not take it as it was. False: there is none.
 */
bool overflow_by_sequence(ptrdiff_t area, const struct page_info *info, void *address);

/*
 * Where magazines are under the sub-heap's lock: puts the block into the loaded magazine. False
 * when there is no place, or the lock is taken. An exchange and a release.
 */
bool overflow_push_locked(const struct page_info *info, void *address);

/* Takes back such a block where sequences are not used or did not find a place. */
void overflow_block(const struct page_info *info, void *address);

#endif
