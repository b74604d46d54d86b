/*
 * SPDX-License-Identifier: MIT
 *
 * See items.h.
 */
#include "items.h"

#include "assoc.h"
#include "locks.h"
#include "slab_moves.h"
#include "slabs.h"

enum { TAIL_TRIES = 5, UPDATE_INTERVAL = 60 };

struct item_stats item_stats[SLAB_CLASSES_MOST];
struct item_list item_lists[SLAB_CLASSES_MOST];
shared_unsigned current_time = 1;

/* Both under the cache lock. */
static SAFE_FROM_MAX void link_to_list(struct item *item)
{
    struct item_list *list = &item_lists[item->slab_class];

    item->prev = NULL;
    item->next = list->head;
    if (item->next != NULL)
        item->next->prev = item;
    list->head = item;
    if (list->tail == NULL)
        list->tail = item;
    list->count++;
}

static SAFE_FROM_MAX void unlink_from_list(struct item *item)
{
    struct item_list *list = &item_lists[item->slab_class];

    if (list->head == item)
        list->head = item->next;
    if (list->tail == item)
        list->tail = item->prev;
    if (item->next != NULL)
        item->next->prev = item->prev;
    if (item->prev != NULL)
        item->prev->next = item->next;
    list->count--;
}

/* Nobody has a reference any more. */
static SAFE_FROM_MAX void item_free(struct item *item)
{
    ENSURE((item->flags & ITEM_LINKED) == 0);
    slabs_free(item, item_total(item), item->slab_class);
}

SAFE_FROM_MAX void do_item_remove(struct item *item)
{
    ENSURE((item->flags & ITEM_SLABBED) == 0);
    if (refcount_decr(&item->refcount) == 0)
        item_free(item);
}

SAFE_FROM_ON_COMMIT void do_item_link(struct item *item, uint32_t hash)
{
    ENSURE((item->flags & (ITEM_LINKED | ITEM_SLABBED)) == 0);
    SECTION(cache_lock, ON_COMMIT)
    {
        item->flags |= ITEM_LINKED;
        item->time = shared_get(&current_time);
        SECTION(stats_lock, MAX)
        {
            stats.current_bytes += item_total(item);
            stats.current_items++;
            stats.total_items++;
        }
        assoc_insert(item, hash);
        link_to_list(item);
        refcount_incr(&item->refcount);
    }
}

SAFE_FROM_LIBRARY void do_item_unlink_nolock(struct item *item, uint32_t hash)
{
    if ((item->flags & ITEM_LINKED) != 0) {
        item->flags &= (uint8_t)~ITEM_LINKED;
        SECTION(stats_lock, MAX)
        {
            stats.current_bytes -= item_total(item);
            stats.current_items--;
        }
        assoc_delete(item->data, item->key_size, hash);
        unlink_from_list(item);
        do_item_remove(item);
    }
}

SAFE_FROM_LIBRARY void do_item_unlink(struct item *item, uint32_t hash)
{
    SECTION(cache_lock, LIBRARY)
    {
        do_item_unlink_nolock(item, hash);
    }
}

SAFE_FROM_ON_COMMIT void do_item_replace(struct item *item, struct item *with, uint32_t hash)
{
    do_item_unlink(item, hash);
    do_item_link(with, hash);
}

SAFE_FROM_MAX void do_item_update(struct item *item)
{
    if (item->time + UPDATE_INTERVAL < shared_get(&current_time)) {
        SECTION(cache_lock, MAX)
        {
            if ((item->flags & ITEM_LINKED) != 0) {
                unlink_from_list(item);
                item->time = shared_get(&current_time);
                link_to_list(item);
            }
        }
    }
}

static SAFE_FROM_MAX bool has_expired(const struct item *item)
{
    return item->exptime != 0 && item->exptime <= shared_get(&current_time);
}

SAFE_FROM_ON_COMMIT struct item *do_item_get(const char *key, size_t key_size, uint32_t hash)
{
    struct item *item = assoc_find(key, key_size, hash);

    if (item != NULL) {
        refcount_incr(&item->refcount);
        /* An item in use would keep its page from being moved. */
        if (rebalance_covers(item) || has_expired(item)) {
            do_item_unlink(item, hash);
            do_item_remove(item);
            item = NULL;
        }
    }
    if (item == NULL) {
        LOG(2, "> not found", hash);
    } else {
        item->flags |= ITEM_FETCHED;
        LOG(2, "> found", hash);
    }
    return item;
}

/*
 * The chunk of the item at the tail of the list, which is unlinked: it has expired, or there is no
 * other chunk. Under the cache lock, with the item's lock; refcount is the caller's and the
 * table's.
 */
static SAFE_FROM_ON_COMMIT struct item *take_tail(struct item *tail, uint32_t hash, unsigned class,
                                                  size_t bytes)
{
    struct item *item;

    if (has_expired(tail)) {
        item_stats[class].reclaimed++;
    } else {
        item = slabs_alloc(bytes, class);
        if (item != NULL)
            return item;
        item_stats[class].evicted++;
        slabs_reassign(class);
    }
    slabs_adjust_requested(class, item_total(tail), bytes);
    do_item_unlink_nolock(tail, hash);
    tail->slab_class = CLASS_NONE;
    return tail;
}

/* Looks at the tail of the class's list; NULL: all that were looked at are in use, or there are
   none. Under the cache lock. */
static SAFE_FROM_ON_COMMIT struct item *search_tail(unsigned class, size_t bytes)
{
    struct item *tail = item_lists[class].tail, *item = NULL;

    for (int tries = TAIL_TRIES; item == NULL && tries > 0 && tail != NULL; tries--) {
        struct item *before = tail->prev;
        uint32_t hash = item_hash(tail->data, tail->key_size);

        if (item_trylock(hash)) {
            if (refcount_incr(&tail->refcount) == 2)
                item = take_tail(tail, hash, class, bytes);
            refcount_decr(&tail->refcount);
            item_trylock_unlock(hash);
        }
        tail = before;
    }
    return item;
}

SAFE_FROM_ON_COMMIT struct item *do_item_alloc(const char *key, size_t key_size, unsigned exptime,
                                               size_t value_size)
{
    size_t bytes = item_bytes(key_size, value_size);
    unsigned class = slabs_class(bytes);
    struct item *item = NULL;

    if (class == CLASS_NONE)
        return NULL;
    SECTION(cache_lock, ON_COMMIT)
    {
        item = search_tail(class, bytes);
        if (item == NULL)
            item = slabs_alloc(bytes, class);
        if (item == NULL) {
            item_stats[class].out_of_memory++;
        } else {
            ENSURE(item->slab_class == CLASS_NONE);
            ENSURE(item != item_lists[class].head);
            item->next = item->prev = item->h_next = NULL;
            item->time = 0;
            item->exptime = exptime;
            item->value_size = (uint32_t)value_size;
            item->refcount = 1;
            item->flags = 0;
            item->key_size = (uint8_t)key_size;
            memcpy(item->data, key, key_size);
            item->slab_class = (uint8_t) class;
        }
    }
    return item;
}
