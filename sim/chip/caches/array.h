/*
 * SPDX-License-Identifier: MIT
 *
 * One set-associative array of blocks with true LRU: a first, second or last level. A block is
 * named by its number, its address over the block size. The tags lie apart from the states, so that
 * a lookup touches one or two lines of the host's memory.
 */
#ifndef CHIP_ARRAY_H
#define CHIP_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_NONE UINT64_MAX /* the tag of an empty place */

/*
 * The coherence state of a copy. Invariants: valid implies tokens >= 1; owner implies tokens >= 1;
 * a place whose copy has no token and waits for none is empty.
 */
struct line {
    uint64_t stamp;   /* of the last use */
    uint64_t version; /* of the data, for the checker */
    uint16_t tokens;
    uint8_t mshr;   /* while pending */
    bool owner;     /* has the owner token: answers with data */
    bool dirty;     /* the owner's data are newer than memory's */
    bool valid;     /* the data are here */
    bool pending;   /* a miss on it is under way: it must stay in its place */
    bool elsewhere; /* second level, inclusive: the state is in the first level */
};

struct array {
    uint32_t sets, ways;
    uint32_t shift; /* bits of the block number that choose a bank, not a set */
    uint64_t clock;
    uint64_t *tags;
    struct line *lines;
};

/* `sets` a power of two. False: out of memory. */
bool array_init(struct array *array, uint32_t sets, uint32_t ways, uint32_t shift);
void array_destroy(struct array *array);

static inline uint32_t array_set(const struct array *array, uint64_t block)
{
    return (uint32_t)(block >> array->shift) & (array->sets - 1);
}

/* The copy of the block, or NULL. Changes nothing. */
static inline struct line *array_find(const struct array *array, uint64_t block)
{
    uint32_t first = array_set(array, block) * array->ways;
    const uint64_t *tags = &array->tags[first];

    for (uint32_t way = 0; way < array->ways; way++)
        if (tags[way] == block)
            return &array->lines[first + way];
    return NULL;
}

static inline uint64_t *array_tag(const struct array *array, const struct line *line)
{
    return &array->tags[line - array->lines];
}

static inline void array_touch(struct array *array, struct line *line)
{
    line->stamp = ++array->clock;
}

/* Where the block would go: an empty place of its set, or the one not used for longest. */
struct line *array_victim(const struct array *array, uint64_t block);

/* Puts the block with this state there, as the one used last. */
void array_put(struct array *array, struct line *line, uint64_t block, const struct line *state);

static inline void array_remove(struct array *array, struct line *line)
{
    *array_tag(array, line) = ARRAY_NONE;
}

#endif
