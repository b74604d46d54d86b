/*
 * SPDX-License-Identifier: MIT
 *
 * The private caches of a core as an agent: its own accesses, what comes in for them, and what
 * leaves. The same for all protocols.
 */
#ifndef CHIP_REQUESTER_H
#define CHIP_REQUESTER_H

#include "chip/coherence/fabric.h"

enum requester_result {
    REQUESTER_L1,     /* a hit in the first level */
    REQUESTER_L2,     /* in the second */
    REQUESTER_MISS,   /* a miss has begun */
    REQUESTER_MERGED, /* a miss on the block is under way and will satisfy this one, too */
    REQUESTER_RETRY,  /* nothing happened: ask again when a miss of the core is over */
};

/*
 * A core accesses a block at `time`, not before the present. With a miss or a merged access *mshr
 * is the one that will be given to fabric->completed.
 */
enum requester_result requester_access(struct fabric *fabric, unsigned core, uint64_t block,
                                       bool write, uint64_t time, struct mshr **mshr);

/* The core's first-level hit, if it is one: no more than a lookup. */
bool requester_hit(struct fabric *fabric, unsigned core, uint64_t block, bool write);

/*
 * The tokens of a GRANT for the core go into its line; satisfies the miss if they suffice. False:
 * the core has no line of the block, and the tokens are still in the message.
 */
bool requester_granted(struct fabric *fabric, unsigned core, struct message *message);

/* All tokens of the line leave the private caches for the home; the caller empties the place. */
void requester_put(struct fabric *fabric, unsigned core, uint64_t block, struct line *line,
                   bool answer, uint64_t time);

/* The core flushes the block: it leaves the private caches for its home and, if `bank`, that for
 * memory. A block that an access waits for stays. */
void requester_flush(struct fabric *fabric, unsigned core, uint64_t block, bool bank);

/* Empties the line's place unless it has tokens or is waited for. */
void requester_drop(struct fabric *fabric, unsigned core, uint64_t block, const struct line *line);

/* The miss on the block that the line waits for, or NULL. */
struct mshr *requester_mshr(struct fabric *fabric, unsigned core, const struct line *line);

#endif
