/*
 * SPDX-License-Identifier: MIT
 *
 * The directory of one home: set-associative, true LRU, an entry with a bit for each core. An entry
 * names at least the cores that have tokens of its block. Ways may be taken away and given back.
 */
#ifndef CHIP_DIRECTORY_H
#define CHIP_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_NO_OWNER = 255 };

struct directory_entry {
    uint64_t block; /* UINT64_MAX: empty */
    uint64_t sharers;
    uint64_t stamp;
    uint8_t owner; /* the core that has the owner token, or DIRECTORY_NO_OWNER: the home has it */
};

struct directory {
    uint32_t sets, ways, ways_most, shift;
    uint64_t clock;
    struct directory_entry *entries;
};

/* False: out of memory. `shift`: bits of a block's number that choose the home. */
bool directory_init(struct directory *directory, uint32_t sets, uint32_t ways, uint32_t ways_most,
                    uint32_t shift);
void directory_destroy(struct directory *directory);

/* The block's entry, used by that, or NULL. */
struct directory_entry *directory_find(struct directory *directory, uint64_t block);

/*
 * Where the block's entry would go: an empty place of its set, or the one not used for longest
 * among those that `is_busy` does not refuse; NULL if it refuses all.
 */
struct directory_entry *directory_victim(struct directory *directory, uint64_t block,
                                         bool (*is_busy)(void *context, uint64_t block),
                                         void *context);

/* A new entry for the block in this place. */
void directory_put(struct directory *directory, struct directory_entry *entry, uint64_t block);

static inline bool directory_is_empty(const struct directory_entry *entry)
{
    return entry->block == UINT64_MAX;
}

static inline void directory_remove(struct directory_entry *entry)
{
    entry->block = UINT64_MAX;
}

/* Takes the last way away; its entries are lost. At least one way stays. */
void directory_shrink(struct directory *directory);

/* Gives one back, empty. */
void directory_grow(struct directory *directory);

#endif
