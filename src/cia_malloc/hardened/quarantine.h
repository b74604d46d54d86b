/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks freed under CIA_HARDEN=1 wait here before they can be handed out again, so that who still
 * has their address does not soon meet another block there. One for each sub-heap, under its lock,
 * for blocks of any sub-heap, in memory of its own.
 *
 * A block takes the place of one that is drawn from 64; that one goes to the end of a queue. So
 * each stays for as long as the queue, and some uncertain time more.
 */
#ifndef MPLACE_CIA_QUARANTINE_H
#define MPLACE_CIA_QUARANTINE_H

#include "cia_malloc/heap/block.h"
#include "cia_malloc/heap/subheap.h"

enum {
    QUARANTINE_DRAWN = 64,
    QUARANTINE_PLACES = 4096,
    QUARANTINE_BYTES = 1 << 20, /* of the queue; then the oldest go, but for what is drawn */
    QUARANTINE_LEAVING = 16,    /* at once */
};

struct quarantine {
    size_t bytes;                         /* in the queue */
    uint32_t first, count;                /* of the queue, a ring */
    uint32_t waiting[CLASS_LARGE + 1];    /* by class, or CLASS_LARGE */
    size_t large_bytes;                   /* pages of those */
    struct block drawn[QUARANTINE_DRAWN]; /* start NULL: none yet */
    char *queue[QUARANTINE_PLACES];
};

/*
 * For the holder of the lock. Puts a block in, at the drawn one of the 64 places, and takes out
 * those that have waited for long enough: returns how many, which are the caller's to give back
 * after the lock. Of a sub-heap that has no quarantine and no memory for one, that is the block
 * itself.
 */
uint32_t quarantine_put(struct subheap *heap, const struct block *block, uint32_t drawn,
                        struct block leaving[QUARANTINE_LEAVING]);

/* The same, takes out only, whatever there is; 0 when it is empty. */
uint32_t quarantine_take(struct subheap *heap, struct block leaving[QUARANTINE_LEAVING]);

#endif
