/*
 * SPDX-License-Identifier: MIT
 *
 * See cache.h.
 */
#include "cache.h"

#include "assoc.h"
#include "items.h"
#include "locks.h"
#include "rebalance.h"
#include "slabs.h"
#include "stats.h"

bool cache_start(size_t memory, unsigned hash_power)
{
    stats_init();
    return slabs_init((memory + SLAB_PAGE_SIZE - 1) / SLAB_PAGE_SIZE) && assoc_init(hash_power) &&
           assoc_start_thread() && rebalance_start_thread();
}

void cache_stop(void)
{
    assoc_stop_thread();
    rebalance_stop_thread();
}

struct item *cache_get(unsigned worker, const char *key, size_t key_size)
{
    uint32_t hash = item_hash(key, key_size);
    struct item *item = NULL;

    ITEM_SECTION(hash, ON_COMMIT)
    {
        item = do_item_get(key, key_size, hash);
    }
    SECTION(thread_stats[worker].mutex, MAX)
    {
        thread_stats[worker].get_commands++;
        if (item == NULL)
            thread_stats[worker].get_misses++;
        else
            thread_stats[worker].get_hits[item->slab_class]++;
    }
    if (item != NULL) {
        ITEM_SECTION(hash, MAX)
        {
            do_item_update(item);
        }
    }
    return item;
}

struct item *cache_alloc(const char *key, size_t key_size, unsigned exptime, size_t value_size)
{
    return do_item_alloc(key, key_size, exptime, value_size);
}

static SAFE_FROM_ON_COMMIT void do_store(struct item *item, uint32_t hash)
{
    struct item *old = do_item_get(item->data, item->key_size, hash);

    if (old != NULL) {
        do_item_replace(old, item, hash);
        do_item_remove(old);
    } else {
        do_item_link(item, hash);
    }
}

void cache_store(unsigned worker, struct item *item)
{
    uint32_t hash = item_hash(item->data, item->key_size);

    SECTION(thread_stats[worker].mutex, MAX)
    {
        thread_stats[worker].set_commands[item->slab_class]++;
    }
    ITEM_SECTION(hash, ON_COMMIT)
    {
        do_store(item, hash);
    }
}

void cache_release(struct item *item)
{
    uint32_t hash = item_hash(item->data, item->key_size);

    ITEM_SECTION(hash, MAX)
    {
        do_item_remove(item);
    }
}

enum { DIGITS = 24 };

/* The number that the value begins with. Under the item lock. */
static SAFE_FROM_LIBRARY bool read_number(struct item *item, unsigned long long *number)
{
    char *text = item_value(item), *end = text;

    *number = item->value_size < DIGITS ? 0 : lib_strtoull(text, &end, 10);
    return end != text;
}

/* Writes it in place if nobody else reads the item, else into a new item. Under the item lock. */
static SAFE_FROM_ON_COMMIT bool write_number(struct item *item, uint32_t hash,
                                             unsigned long long number)
{
    char digits[DIGITS];
    struct item *with;
    int length = lib_decimal(digits, sizeof digits, number);

    if (refcount_get(&item->refcount) == 2) {
        memcpy(item_value(item), digits, (size_t)length + 1);
        return true;
    }
    with = do_item_alloc(item->data, item->key_size, item->exptime, item->value_size);
    if (with == NULL)
        return false;
    memcpy(item_value(with), digits, (size_t)length + 1);
    do_item_replace(item, with, hash);
    do_item_remove(with);
    return true;
}

static SAFE_FROM_ON_COMMIT enum cache_answer
do_add(unsigned worker, const char *key, size_t key_size, uint32_t hash, unsigned long long delta)
{
    enum cache_answer answer = CACHE_DONE;
    unsigned long long number;
    struct item *item = do_item_get(key, key_size, hash);

    if (item == NULL)
        return CACHE_NOT_FOUND;
    if (!read_number(item, &number))
        answer = CACHE_NOT_A_NUMBER;
    else if (!write_number(item, hash, number + delta))
        answer = CACHE_NO_MEMORY;
    SECTION(thread_stats[worker].mutex, MAX)
    {
        thread_stats[worker].delta_commands++;
    }
    do_item_remove(item);
    return answer;
}

enum cache_answer cache_add(unsigned worker, const char *key, size_t key_size,
                            unsigned long long delta)
{
    uint32_t hash = item_hash(key, key_size);
    enum cache_answer answer = CACHE_DONE;

    ITEM_SECTION(hash, ON_COMMIT)
    {
        answer = do_add(worker, key, key_size, hash, delta);
    }
    return answer;
}

/* Appends "name number\n"; returns the new length. What does not fit is left out. */
static SAFE_FROM_LIBRARY size_t describe(char *to, size_t size, size_t length, const char *name,
                                         size_t name_size, unsigned long long number)
{
    if (length + name_size + DIGITS + 2 > size)
        return length;
    memcpy(to + length, name, name_size);
    length += name_size;
    length += (size_t)lib_decimal(to + length, DIGITS, number);
    to[length++] = '\n';
    return length;
}

#define DESCRIBE(name, number) length = describe(to, size, length, name " ", sizeof name, (number))

size_t cache_describe(char *to, size_t size)
{
    size_t length = 0;

    SECTION(cache_lock, LIBRARY)
    {
        for (unsigned i = 1; i <= slab_classes_used; i++) {
            if (item_lists[i].tail != NULL) {
                DESCRIBE("class", i);
                DESCRIBE("items", item_lists[i].count);
                DESCRIBE("evicted", item_stats[i].evicted);
                DESCRIBE("reclaimed", item_stats[i].reclaimed);
                DESCRIBE("out of memory", item_stats[i].out_of_memory);
            }
        }
    }
    SECTION(slabs_lock, LIBRARY)
    {
        for (unsigned i = 1; i <= slab_classes_used; i++) {
            if (slab_classes[i].pages > 0) {
                DESCRIBE("class", i);
                DESCRIBE("pages", slab_classes[i].pages);
                DESCRIBE("free chunks", slab_classes[i].free_count);
            }
        }
    }
    SECTION(stats_lock, LIBRARY)
    {
        DESCRIBE("items", stats.current_items);
        DESCRIBE("bytes", stats.current_bytes);
        DESCRIBE("expansions", stats.hash_expansions);
    }
    return length;
}

void cache_tick(void)
{
    shared_set(&current_time, shared_get(&current_time) + 1);
}
