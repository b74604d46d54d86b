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
 * key: 0: empty. BEING_WRITTEN: claimed. Else the address of a block, and then the sample stands.
 * From empty by compare-and-swap; the address is released after the sample is written, and found by
 * a thread that has the block, and so its hand-over's order.
 */
enum { EMPTY = 0, BEING_WRITTEN = 1 };

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

static struct bucket *level_at(unsigned level)
{
    struct bucket *buckets = atomic_load_explicit(&levels[level], memory_order_acquire);

    if (buckets != NULL)
        return buckets;
    size_t bytes = buckets_of(level) * sizeof *buckets;
    struct bucket *fresh = pages_map(bytes, MAP_NORESERVE);
    if (fresh == NULL)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(&levels[level], &buckets, fresh,
                                                memory_order_acq_rel, memory_order_acquire))
        return fresh;
    pages_unmap(fresh, bytes);
    return buckets;
}

bool sampled_add(const void *block, const struct sample *sample)
{
    for (unsigned level = 0; level < LEVELS; level++) {
        struct bucket *buckets = level_at(level);

        if (buckets == NULL)
            return false;
        struct bucket *bucket = bucket_of(buckets, level, block);
        for (unsigned i = 0; i < PLACES; i++) {
            uintptr_t expected = EMPTY;

            if (atomic_load_explicit(&bucket->key[i], memory_order_relaxed) != EMPTY ||
                !atomic_compare_exchange_strong_explicit(&bucket->key[i], &expected, BEING_WRITTEN,
                                                         memory_order_acquire,
                                                         memory_order_relaxed))
                continue;
            bucket->sample[i] = *sample;
            atomic_store_explicit(&bucket->key[i], (uintptr_t)block, memory_order_release);
            return true;
        }
    }
    return false;
}

bool sampled_take(const void *block, struct sample *sample)
{
    for (unsigned level = 0; level < LEVELS; level++) {
        struct bucket *buckets = atomic_load_explicit(&levels[level], memory_order_acquire);

        if (buckets == NULL)
            return false;
        struct bucket *bucket = bucket_of(buckets, level, block);
        for (unsigned i = 0; i < PLACES; i++) {
            uintptr_t key = (uintptr_t)block;

            if (atomic_load_explicit(&bucket->key[i], memory_order_acquire) != key)
                continue;
            *sample = bucket->sample[i];
            /* Of two frees of one block, one finds it gone. */
            return atomic_compare_exchange_strong_explicit(
                &bucket->key[i], &key, EMPTY, memory_order_release, memory_order_relaxed);
        }
    }
    return false;
}
