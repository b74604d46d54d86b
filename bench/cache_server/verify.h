/*
 * SPDX-License-Identifier: MIT
 *
 * Whether the cache is consistent, while no thread runs.
 */
#ifndef BENCH_CACHE_SERVER_VERIFY_H
#define BENCH_CACHE_SERVER_VERIFY_H

/*
 * The hash table against the LRU lists, the slab classes and the counts; every value against its
 * key. Returns NULL, or what is wrong.
 */
const char *verify_cache(void);

#endif
