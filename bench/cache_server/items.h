/*
 * SPDX-License-Identifier: MIT
 *
 * Items: allocation with eviction, the LRU list of each slab class, references. Functions that
 * begin with do_ are called under the item lock of the hash.
 */
#ifndef BENCH_CACHE_SERVER_ITEMS_H
#define BENCH_CACHE_SERVER_ITEMS_H

#include "item.h"
#include "stats.h"

/* The cache lock's. */
struct item_stats {
    uint64_t evicted, reclaimed, out_of_memory;
};

/* A class's list: the head was moved there last. The cache lock's. */
struct item_list {
    struct item *head, *tail;
    uint64_t count;
};

extern struct item_stats item_stats[SLAB_CLASSES_MOST];
extern struct item_list item_lists[SLAB_CLASSES_MOST];

/* Ticks since the start: one worker writes it. */
extern shared_unsigned current_time;

/* An item with the key and one reference; its value is the caller's to fill. NULL: no memory. */
SAFE_FROM_ON_COMMIT struct item *do_item_alloc(const char *key, size_t key_size, unsigned exptime,
                                               size_t value_size);

/* One reference more, or NULL: not there, or expired. */
SAFE_FROM_ON_COMMIT struct item *do_item_get(const char *key, size_t key_size, uint32_t hash);

/* Gives a reference back. */
SAFE_FROM_MAX void do_item_remove(struct item *item);

SAFE_FROM_ON_COMMIT void do_item_link(struct item *item, uint32_t hash);
SAFE_FROM_LIBRARY void do_item_unlink(struct item *item, uint32_t hash);
SAFE_FROM_ON_COMMIT void do_item_replace(struct item *item, struct item *with, uint32_t hash);

/* do_item_unlink, under the cache lock. */
SAFE_FROM_LIBRARY void do_item_unlink_nolock(struct item *item, uint32_t hash);

/* Moves it to the head of its list, if that was long ago. */
SAFE_FROM_MAX void do_item_update(struct item *item);

#endif
