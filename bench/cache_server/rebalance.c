/*
 * SPDX-License-Identifier: MIT
 *
 * See rebalance.h.
 */
#include "rebalance.h"

#include "items.h"
#include "slab_moves.h"
#include "slabs.h"

#include <unistd.h>

enum { CHECKED_AT_ONCE = 16, BUSY_PAUSE_US = 50 };
static shared_unsigned rebalance_runs;
static pthread_t rebalance_thread;

static void start_move(void)
{
    SECTION(cache_lock, ON_COMMIT)
    {
        SECTION(slabs_lock, ON_COMMIT)
        {
            struct slab_class *from = &slab_classes[slab_move.from];

            if (from->pages > 1 && do_slabs_grow_list(slab_move.to)) {
                slab_move.begin = slab_move.at = from->page_list[0];
                slab_move.end = slab_move.begin + from->chunks * from->size;
                slab_move.busy = 0;
                slab_move.done = false;
                shared_set(&moving_page, slabs_page_number(slab_move.begin) + 1);
                shared_set(&rebalance_signal, SIGNAL_MOVING);
                LOG(1, "started a slab rebalance from class", slab_move.from);
            } else {
                shared_set(&rebalance_signal, SIGNAL_NONE);
            }
        }
        SECTION(stats_lock, MAX)
        {
            stats.rebalance_is_running = shared_get(&rebalance_signal) == SIGNAL_MOVING;
        }
    }
}

/* Takes one chunk out of use; false: somebody uses it. Under the cache lock and the slabs lock. */
static SAFE_FROM_LIBRARY bool do_clear_chunk(struct item *item)
{
    bool cleared = false;
    uint32_t hash;

    if (item->slab_class == CLASS_CLEARED)
        return true;
    hash = item_hash(item->data, item->key_size);
    if (!item_trylock(hash))
        return false;
    switch (refcount_incr(&item->refcount)) {
    case 1: /* free, or just about to be freed */
        if (item->flags & ITEM_SLABBED) {
            do_slabs_unlink_free(item, slab_move.from);
            cleared = true;
        }
        break;
    case 2: /* in the table and not in use, or being filled */
        if (item->flags & ITEM_LINKED) {
            do_item_unlink_nolock(item, hash);
            slab_classes[slab_move.from].requested -= item_total(item);
            cleared = true;
        }
        break;
    }
    if (cleared) {
        item->refcount = 0;
        item->flags = 0;
        item->slab_class = CLASS_CLEARED;
    } else {
        refcount_decr(&item->refcount);
    }
    item_trylock_unlock(hash);
    return cleared;
}

/* Goes on with the page; returns whether items were in use. */
static bool move_on(void)
{
    bool was_busy = false;

    SECTION(cache_lock, LIBRARY)
    {
        SECTION(slabs_lock, LIBRARY)
        {
            for (int i = 0; i < CHECKED_AT_ONCE && slab_move.at < slab_move.end; i++) {
                if (!do_clear_chunk((struct item *)slab_move.at)) {
                    slab_move.busy++;
                    was_busy = true;
                }
                slab_move.at += slab_classes[slab_move.from].size;
            }
            if (slab_move.at >= slab_move.end) {
                slab_move.done = slab_move.busy == 0;
                slab_move.at = slab_move.begin;
                slab_move.busy = 0;
            }
        }
    }
    return was_busy;
}

/* No item is left in the page: it becomes one of the other class. */
static void finish_move(void)
{
    SECTION(cache_lock, ON_COMMIT)
    {
        SECTION(slabs_lock, ON_COMMIT)
        {
            struct slab_class *from = &slab_classes[slab_move.from],
                              *to = &slab_classes[slab_move.to];

            from->page_list[0] = from->page_list[--from->pages];
            memset(slab_move.begin, 0, SLAB_PAGE_SIZE);
            to->page_list[to->pages++] = slab_move.begin;
            do_slabs_split_page(slab_move.begin, slab_move.to);
            slab_move.done = false;
            shared_set(&moving_page, 0);
            shared_set(&rebalance_signal, SIGNAL_NONE);
            LOG(1, "finished a slab rebalance to class", slab_move.to);
        }
        SECTION(stats_lock, MAX)
        {
            stats.pages_moved++;
            stats.rebalance_is_running = false;
        }
    }
}

/* Gives the lock to others until there is work, or the thread is to end. */
static void wait_for_work(void)
{
#if CACHE_SEMAPHORES
    flag_unlock(&rebalance_lock);
    wake_wait(&rebalance_wake);
    flag_lock_wait(&rebalance_lock);
#else
    while (shared_get(&rebalance_signal) == SIGNAL_NONE && shared_get(&rebalance_runs))
        pthread_cond_wait(&rebalance_wake.condition, &rebalance_lock);
#endif
}

static void *rebalance_work(void *unused)
{
    (void)unused;
    flag_lock_wait(&rebalance_lock);
    while (shared_get(&rebalance_runs) || shared_get(&rebalance_signal) != SIGNAL_NONE) {
        bool was_busy = false;

        if (shared_get(&rebalance_signal) == SIGNAL_WANTED)
            start_move();
        if (shared_get(&rebalance_signal) == SIGNAL_MOVING) {
            was_busy = move_on();
            if (slab_move.done)
                finish_move();
        }
        if (was_busy)
            usleep(BUSY_PAUSE_US);
        if (shared_get(&rebalance_signal) == SIGNAL_NONE && shared_get(&rebalance_runs))
            wait_for_work();
    }
    flag_unlock(&rebalance_lock);
    return NULL;
}

bool rebalance_start_thread(void)
{
    shared_set(&rebalance_runs, 1);
    return pthread_create(&rebalance_thread, NULL, rebalance_work, NULL) == 0;
}

/* A move that is under way comes to its end first. */
void rebalance_stop_thread(void)
{
    shared_set(&rebalance_runs, 0);
#if CACHE_SEMAPHORES
    wake_post(&rebalance_wake);
#else
    flag_lock_wait(&rebalance_lock);
    wake_post(&rebalance_wake);
    flag_unlock(&rebalance_lock);
#endif
    pthread_join(rebalance_thread, NULL);
}
