/*
 * SPDX-License-Identifier: MIT
 *
 * The hash table: chains of items, and a thread that doubles the table when there are more items
 * than one and a half a bucket. While it grows, the buckets that have not been moved yet are found
 * in the old table.
 */
#ifndef BENCH_CACHE_SERVER_ASSOC_H
#define BENCH_CACHE_SERVER_ASSOC_H

#include "item.h"

enum { HASH_POWER_LEAST = 12, HASH_POWER_MOST = 28 };

/* 2^power buckets. False: no memory. */
bool assoc_init(unsigned power);
bool assoc_start_thread(void);
void assoc_stop_thread(void);

/* Under the item lock of the hash. */
SAFE_FROM_LIBRARY struct item *assoc_find(const char *key, size_t key_size, uint32_t hash);

/* Under the item lock of the hash and the cache lock. */
SAFE_FROM_ON_COMMIT void assoc_insert(struct item *item, uint32_t hash);
SAFE_FROM_LIBRARY void assoc_delete(const char *key, size_t key_size, uint32_t hash);

/* Calls visit for every item, with its hash. While no other thread runs, and the table does not
 * grow.
 */
void assoc_walk(void (*visit)(struct item *item, uint32_t hash, void *argument), void *argument);

#endif
