/*
 * SPDX-License-Identifier: MIT
 *
 * The locks of the cache, in their order: item, cache, slabs, statistics. An item lock covers the
 * items whose hashes agree in their low bits. While the hash table grows, workers take one lock for
 * all items instead, unless item locks are transactions.
 */
#ifndef BENCH_CACHE_SERVER_LOCKS_H
#define BENCH_CACHE_SERVER_LOCKS_H

#include "branch.h"

extern pthread_mutex_t cache_lock; /* LRU lists, and changes of the hash table */
extern pthread_mutex_t slabs_lock; /* slab classes, their free lists and pages */
extern pthread_mutex_t stats_lock; /* the counts of the whole cache */

/* Where sections are transactions the three are not used. */

#if CACHE_ITEM_TRANSACTIONS
#define ITEM_SECTION(hash, stage)                                                                  \
    (void)(hash);                                                                                  \
    SECTION(item_lock, stage)

/* The section that asks is a transaction, which conflicts with whoever uses the item. */
SAFE_FROM_MAX static inline bool item_trylock(uint32_t hash)
{
    (void)hash;
    return true;
}

SAFE_FROM_MAX static inline void item_trylock_unlock(uint32_t hash)
{
    (void)hash;
}

#define locks_enter() ((void)0)
#define locks_leave() ((void)0)
#define locks_poll()  ((void)0)
#else
enum { ITEM_LOCK_GRANULAR, ITEM_LOCK_GLOBAL };

void item_lock(uint32_t hash);
void item_unlock(uint32_t hash);

/* In sections of the cache lock. */
SAFE_FROM_MAX bool item_trylock(uint32_t hash);
SAFE_FROM_MAX void item_trylock_unlock(uint32_t hash);

static inline bool item_section_enter(uint32_t hash)
{
    item_lock(hash);
    return true;
}

static inline bool item_section_leave(uint32_t hash)
{
    item_unlock(hash);
    return false;
}

/* As SECTION, and in the other branches alike. The hash must not change in it. */
#define ITEM_SECTION(hash, stage)                                                                  \
    for (bool locked = item_section_enter(hash); locked; locked = item_section_leave(hash))

/* A worker calls the first before its first operation, the second after its last, and the third
   between operations: there it changes the kind of lock that it takes, together with all others. */
void locks_enter(void);
void locks_leave(void);
void locks_poll(void);

/* Returns when all workers take that kind. The calling maintenance thread does so from now on. */
void locks_switch(int kind);

/* All items, for the maintenance thread of the hash table, after locks_switch(ITEM_LOCK_GLOBAL). */
void item_lock_global(void);
void item_unlock_global(void);
#endif

#endif
