/*
 * SPDX-License-Identifier: MIT
 *
 * An item: a header, its key, its value. It lies in a chunk of a slab class; a page of chunks that
 * were never used is zero.
 */
#ifndef BENCH_CACHE_SERVER_ITEM_H
#define BENCH_CACHE_SERVER_ITEM_H

#include "branch.h"

#include <stddef.h>

enum {
    ITEM_LINKED = 1,  /* in the hash table and in the LRU list */
    ITEM_SLABBED = 2, /* in the free list of its class */
    ITEM_FETCHED = 4, /* was found at least once */

    CLASS_NONE = 0,     /* of a free item, and of one that is being allocated */
    CLASS_CLEARED = 255 /* of a chunk in a page that the rebalancer has taken it from */
};

struct item {
    struct item *next, *prev; /* LRU list or free list: the cache lock's, the slabs lock's */
    struct item *h_next;      /* hash chain: the item lock's, changed under the cache lock, too */
    unsigned time, exptime;   /* last moved to the head of the LRU list; expires, or 0 */
    uint32_t value_size;
    unsigned short refcount; /* 1 for the hash table and 1 for each user; the item lock's */
    uint8_t flags, slab_class, key_size;
    char data[]; /* the key, then the value at a multiple of 8 bytes */
};

static inline size_t item_value_offset(size_t key_size)
{
    return (offsetof(struct item, data) + key_size + 7) / 8 * 8;
}

static inline size_t item_bytes(size_t key_size, size_t value_size)
{
    return item_value_offset(key_size) + value_size;
}

static inline size_t item_total(const struct item *item)
{
    return item_bytes(item->key_size, item->value_size);
}

static inline char *item_value(struct item *item)
{
    return (char *)item + item_value_offset(item->key_size);
}

/* FNV-1a, and a last mix so that its low bits depend on all of the key. */
static inline uint32_t item_hash(const char *key, size_t size)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619u;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    return hash ^ hash >> 13;
}

#endif
