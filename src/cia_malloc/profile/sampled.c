/*
 * SPDX-License-Identifier: MIT
 *
 * See sampled.h. A hash table in levels, each four times as large as the one before. A block has
 * one bucket of seven places in each level, and no other place: so no entry is ever moved, and an
 * empty place is just that. A level is made when the buckets of those before it are full.
 */
#include "cia_malloc/profile/sampled.h"

#include "base/pages.h"
#include "cia_malloc/pages/geometry.h"

#include <stdatomic.h>

enum {
    PLACES = 7, /* of 8 bytes, and the padding: a line */
    LEVELS = 12,
    FIRST_LEVEL_SHIFT = 7,
    LEVEL_SHIFT = 2,
};

/*
 * key: EMPTY; or the address of a block, released after its sample was written; or CLAIMED by a
 * thread that adds or takes one, by compare-and-swap (acquire). Either of the others is released
 * after that.
 */
enum { EMPTY = 0, CLAIMED = 1 };

struct bucket {
    _Alignas(LINE_BYTES) _Atomic uintptr_t key[PLACES];
    struct sample sample[PLACES];
};

/* Published by compare-and-swap (release), read with acquire; never taken away. */
static struct bucket *_Atomic levels[LEVELS];

static size_t buckets_of(unsigned level)
{
    return (size_t)1 << (FIRST_LEVEL_SHIFT + level * LEVEL_SHIFT);
}

static struct bucket *bucket_of(struct bucket *buckets, unsigned level, const void *block)
{
    uint64_t hash = ((uint64_t)(uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u;

    return &buckets[hash >> (64 - (FIRST_LEVEL_SHIFT + level * LEVEL_SHIFT))];
}

/* NULL: no memory. */
static struct bucket *make_level(unsigned level)
{
    size_t bytes = buckets_of(level) * sizeof(struct bucket);
    struct bucket *fresh = pages_map(bytes, MAP_NORESERVE), *made = NULL;

    if (fresh == NULL ||
        atomic_compare_exchange_strong_explicit(&levels[level], &made, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    pages_unmap(fresh, bytes);
    return made;
}

/* A place with that key in one of the block's buckets: claimed, the caller's alone. NULL: there is
   none; where an empty one is looked for, levels are made until there is no memory. */
static struct bucket *claim(uintptr_t key, const void *block, unsigned *place)
{
    for (unsigned level = 0; level < LEVELS; level++) {
        struct bucket *buckets = atomic_load_explicit(&levels[level], memory_order_acquire);

        if (buckets == NULL && key == EMPTY)
            buckets = make_level(level);
        if (buckets == NULL)
            return NULL;
        struct bucket *bucket = bucket_of(buckets, level, block);
        for (*place = 0; *place < PLACES; ++*place) {
            uintptr_t expected = key;

            if (atomic_load_explicit(&bucket->key[*place], memory_order_relaxed) == key &&
                atomic_compare_exchange_strong_explicit(&bucket->key[*place], &expected, CLAIMED,
                                                        memory_order_acquire, memory_order_relaxed))
                return bucket;
        }
    }
    return NULL;
}

bool sampled_add(const void *block, const struct sample *sample)
{
    unsigned place;
    struct bucket *bucket = claim(EMPTY, block, &place);

    if (bucket == NULL)
        return false;
    bucket->sample[place] = *sample;
    atomic_store_explicit(&bucket->key[place], (uintptr_t)block, memory_order_release);
    return true;
}

bool sampled_take(const void *block, struct sample *sample)
{
    unsigned place;
    struct bucket *bucket = claim((uintptr_t)block, block, &place);

    if (bucket == NULL)
        return false;
    *sample = bucket->sample[place];
    atomic_store_explicit(&bucket->key[place], EMPTY, memory_order_release);
    return true;
}
