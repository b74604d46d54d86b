/*
 * SPDX-License-Identifier: MIT
 *
 * See assoc.h.
 */
#include "assoc.h"

#include "locks.h"
#include "slab_moves.h"
#include "stats.h"

enum { MOVED_AT_ONCE = 16 }; /* buckets */

/* The cache lock's; a reader holds an item lock, and they change under all item locks alone. */
static struct item **table, **old_table; /* old_table: while it grows */
static unsigned hash_power;
static size_t next_bucket; /* of old_table: those before it have been moved */
static bool expanding;

static size_t item_count;      /* the cache lock's */
static bool started_expanding; /* the cache lock's: growth is wanted or under way */
static struct wake maintenance_wake = WAKE_INITIALIZER;
static shared_unsigned maintenance_runs;
static pthread_t maintenance_thread;

static inline size_t buckets(unsigned power)
{
    return (size_t)1 << power;
}

bool assoc_init(unsigned power)
{
    hash_power = power;
    table = calloc(buckets(power), sizeof *table);
    return table != NULL;
}

/* The head of the chain that has the hash. */
static SAFE_FROM_MAX struct item **chain(uint32_t hash)
{
    size_t old_bucket = hash & (buckets(hash_power - 1) - 1);

    if (expanding && old_bucket >= next_bucket)
        return &old_table[old_bucket];
    return &table[hash & (buckets(hash_power) - 1)];
}

/* What points to the item with the key, or to the end of its chain. */
static SAFE_FROM_LIBRARY struct item **find_link(const char *key, size_t key_size, uint32_t hash)
{
    struct item **link = chain(hash);

    while (*link != NULL &&
           ((*link)->key_size != key_size || lib_memcmp((*link)->data, key, key_size) != 0))
        link = &(*link)->h_next;
    return link;
}

SAFE_FROM_LIBRARY struct item *assoc_find(const char *key, size_t key_size, uint32_t hash)
{
    return *find_link(key, key_size, hash);
}

SAFE_FROM_ON_COMMIT void assoc_insert(struct item *item, uint32_t hash)
{
    struct item **head = chain(hash);

    item->h_next = *head;
    *head = item;
    item_count++;
    if (!expanding && !started_expanding && hash_power < HASH_POWER_MOST &&
        item_count > buckets(hash_power) * 3 / 2) {
        started_expanding = true;
        wake_post(&maintenance_wake);
    }
}

SAFE_FROM_LIBRARY void assoc_delete(const char *key, size_t key_size, uint32_t hash)
{
    struct item **link = find_link(key, key_size, hash);
    struct item *item = *link;

    ENSURE(item != NULL);
    *link = item->h_next;
    item->h_next = NULL;
    item_count--;
}

/* The maintenance thread's: with item locks, it excludes whoever reads the table. */
static void lock_items(void)
{
#if !CACHE_ITEM_TRANSACTIONS
    item_lock_global();
#endif
}

static void unlock_items(void)
{
#if !CACHE_ITEM_TRANSACTIONS
    item_unlock_global();
#endif
}

/* The new table is there, and empty; without memory for one, the old one stays. */
static void expand(void)
{
    lock_items();
    SECTION(cache_lock, ON_COMMIT)
    {
        struct item **bigger = calloc(buckets(hash_power + 1), sizeof *bigger);

        if (bigger != NULL) {
            old_table = table;
            table = bigger;
            hash_power++;
            next_bucket = 0;
            expanding = true;
            SECTION(stats_lock, MAX)
            {
                stats.hash_expansions++;
                stats.hash_is_expanding = true;
            }
            LOG(1, "the hash table grows to the power", hash_power);
        }
    }
    unlock_items();
}

/* Under the cache lock and all item locks. */
static SAFE_FROM_ON_COMMIT void do_move_bucket(void)
{
    struct item *next;

    for (struct item *item = old_table[next_bucket]; item != NULL; item = next) {
        size_t bucket = item_hash(item->data, item->key_size) & (buckets(hash_power) - 1);

        next = item->h_next;
        item->h_next = table[bucket];
        table[bucket] = item;
    }
    old_table[next_bucket] = NULL;
    next_bucket++;
    if (next_bucket == buckets(hash_power - 1)) {
        expanding = false;
        free(old_table);
        SECTION(stats_lock, MAX)
        {
            stats.hash_is_expanding = false;
        }
        LOG(1, "the hash table has grown to the power", hash_power);
    }
}

/* Moves a few buckets; returns whether there are more. */
static bool move_buckets(void)
{
    bool more;

    lock_items();
    SECTION(cache_lock, ON_COMMIT)
    {
        for (int i = 0; i < MOVED_AT_ONCE && expanding; i++)
            do_move_bucket();
        more = expanding;
    }
    unlock_items();
    return more;
}

/* Waits until growth is wanted, or the thread is to end; returns whether growth is wanted. */
static bool wait_for_work(void)
{
    bool wanted = false;

#if CACHE_SEMAPHORES
    do {
        wake_wait(&maintenance_wake);
        SECTION(cache_lock, MAX)
        {
            wanted = started_expanding;
        }
    } while (!wanted && shared_get(&maintenance_runs));
#else
    SECTION(cache_lock, MAX)
    {
        while (!started_expanding && shared_get(&maintenance_runs))
            pthread_cond_wait(&maintenance_wake.condition, &cache_lock);
        wanted = started_expanding;
    }
#endif
    return wanted;
}

static void *maintenance_work(void *unused)
{
    (void)unused;
    while (wait_for_work()) {
        rebalance_pause();
#if !CACHE_ITEM_TRANSACTIONS
        locks_switch(ITEM_LOCK_GLOBAL);
#endif
        expand();
        while (move_buckets())
            ;
#if !CACHE_ITEM_TRANSACTIONS
        locks_switch(ITEM_LOCK_GRANULAR);
#endif
        rebalance_resume();
        SECTION(cache_lock, MAX)
        {
            started_expanding = false;
        }
    }
    return NULL;
}

bool assoc_start_thread(void)
{
    shared_set(&maintenance_runs, 1);
    return pthread_create(&maintenance_thread, NULL, maintenance_work, NULL) == 0;
}

/* Growth that is wanted by now comes first. */
void assoc_stop_thread(void)
{
    shared_set(&maintenance_runs, 0);
    SECTION(cache_lock, ON_COMMIT)
    {
        wake_post(&maintenance_wake);
    }
    pthread_join(maintenance_thread, NULL);
}

void assoc_walk(void (*visit)(struct item *item, uint32_t hash, void *argument), void *argument)
{
    for (size_t i = 0; i < buckets(hash_power); i++) {
        for (struct item *item = table[i]; item != NULL; item = item->h_next) {
            uint32_t hash = item_hash(item->data, item->key_size);

            visit(item, (hash & (buckets(hash_power) - 1)) == i ? hash : ~hash, argument);
        }
    }
}
