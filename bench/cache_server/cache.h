/*
 * SPDX-License-Identifier: MIT
 *
 * The cache as a worker sees it: each function does what memcached does for one command. Any number
 * of workers, each with a number of its own from 0.
 */
#ifndef BENCH_CACHE_SERVER_CACHE_H
#define BENCH_CACHE_SERVER_CACHE_H

#include "item.h"

enum { KEY_SIZE_MOST = 250 };

/* Memory for items in bytes, rounded up to pages; the hash table has 2^hash_power buckets. Starts
   the two maintenance threads. False: no memory, or no thread. */
bool cache_start(size_t memory, unsigned hash_power);

/* Ends the maintenance threads: afterwards nothing changes. */
void cache_stop(void);

/* The item, which stays as it is until cache_release; NULL: not there. */
struct item *cache_get(unsigned worker, const char *key, size_t key_size);

/* An item that is not in the table yet, for the caller to write its value and then to store it or
   release it; NULL: no memory. */
struct item *cache_alloc(const char *key, size_t key_size, unsigned exptime, size_t value_size);

/* Puts it in the place of what has that key; the caller's reference stays. */
void cache_store(unsigned worker, struct item *item);

void cache_release(struct item *item);

enum cache_answer { CACHE_DONE, CACHE_NOT_FOUND, CACHE_NOT_A_NUMBER, CACHE_NO_MEMORY };

/* Adds to the decimal number that is the value. */
enum cache_answer cache_add(unsigned worker, const char *key, size_t key_size,
                            unsigned long long delta);

/* The text of the commands "stats items", "stats slabs" and "stats": size bytes at most; its
 * length. */
size_t cache_describe(char *to, size_t size);

/* What a clock would do once a second. One worker alone. */
void cache_tick(void);

#endif
