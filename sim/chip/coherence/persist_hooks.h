/*
 * SPDX-License-Identifier: MIT
 *
 * What the caches and the memory tell the persistence of a machine (persistence/), which lies above
 * them. Without one (fabric->persist is NULL) nothing of this happens.
 *
 * A bank keeps old versions of blocks, too: each in a way of its block's set, under a tag of its
 * own, which no lookup of a block finds. If they have ages, ordinary blocks go first where a place
 * is needed; when a set has nothing but versions, the oldest of them goes.
 */
#ifndef CHIP_PERSIST_HOOKS_H
#define CHIP_PERSIST_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#define PERSIST_TAG ((uint64_t)1 << 62) /* of a version's tag; no block has so high a number */

struct line;
struct message;

struct persist_hooks {
    void *owner;
    /* The agent's bank evicts a modified block. True: the owner has seen to what is written. */
    bool (*evicted)(void *owner, unsigned agent, uint64_t block, unsigned core);
    /* The version under this tag loses its place. */
    void (*displaced)(void *owner, unsigned agent, uint64_t tag, unsigned core);
    /* Which of the versions is the oldest: the one with the least number. NULL: versions go by LRU,
     * as all others. */
    uint64_t (*age)(void *owner, uint64_t tag);
    /* The bank gets the data of a block, before it gives it a place; and gives them away: true if
     * the place is a version's now. NULL: nothing to do. */
    void (*arriving)(void *owner, uint64_t block);
    bool (*departing)(void *owner, uint64_t block, struct line *place);
    /* The block of memory that has the newest data of a block which no cache has. */
    uint64_t (*source)(void *owner, uint64_t block);
    /* MESSAGE_PERSIST came to a home; the owner sends the answer. */
    void (*at_home)(void *owner, const struct message *message);
    /* MESSAGE_PERSISTED came back. */
    void (*persisted)(void *owner, const struct message *message);
};

static inline bool persist_is_version(uint64_t tag)
{
    return (tag & PERSIST_TAG) != 0 && tag != UINT64_MAX;
}

#endif
