/*
 * SPDX-License-Identifier: MIT
 *
 * See locks.h.
 */
#include "locks.h"

pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t slabs_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;

#if !CACHE_ITEM_TRANSACTIONS
enum { ITEM_LOCKS = 4096 }; /* no more than the hash table has buckets at first */

static flag_lock item_locks[ITEM_LOCKS] = {[0 ... ITEM_LOCKS - 1] = FLAG_LOCK_INITIALIZER};
static flag_lock global_lock = FLAG_LOCK_INITIALIZER;

/*
 * The kind of lock. Workers change it while all of them stand in locks_poll, so no two of them ever
 * take different kinds. Guarded by switch_lock, which no critical section takes; kind is read
 * without it, too: a worker that misses a change sees it at its next operation.
 */
static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t switch_change = PTHREAD_COND_INITIALIZER;
static int kind = ITEM_LOCK_GRANULAR;
static unsigned workers, arrived, generation;
static __thread int own_kind;

static flag_lock *lock_of(uint32_t hash, int which)
{
    return which == ITEM_LOCK_GLOBAL ? &global_lock : &item_locks[hash % ITEM_LOCKS];
}

void item_lock(uint32_t hash)
{
    flag_lock_wait(lock_of(hash, own_kind));
}

void item_unlock(uint32_t hash)
{
    flag_unlock(lock_of(hash, own_kind));
}

SAFE_FROM_MAX bool item_trylock(uint32_t hash)
{
    return flag_trylock(lock_of(hash, own_kind));
}

SAFE_FROM_MAX void item_trylock_unlock(uint32_t hash)
{
    flag_unlock(lock_of(hash, own_kind));
}

void item_lock_global(void)
{
    flag_lock_wait(&global_lock);
}

void item_unlock_global(void)
{
    flag_unlock(&global_lock);
}

void locks_enter(void)
{
    pthread_mutex_lock(&switch_lock);
    workers++;
    own_kind = kind;
    pthread_mutex_unlock(&switch_lock);
}

void locks_leave(void)
{
    locks_poll();
    pthread_mutex_lock(&switch_lock);
    workers--;
    pthread_cond_broadcast(&switch_change);
    pthread_mutex_unlock(&switch_lock);
}

void locks_poll(void)
{
    unsigned seen;

    if (__atomic_load_n(&kind, __ATOMIC_RELAXED) == own_kind)
        return;
    pthread_mutex_lock(&switch_lock);
    own_kind = kind;
    arrived++;
    seen = generation;
    pthread_cond_broadcast(&switch_change);
    while (generation == seen)
        pthread_cond_wait(&switch_change, &switch_lock);
    pthread_mutex_unlock(&switch_lock);
}

void locks_switch(int wanted)
{
    pthread_mutex_lock(&switch_lock);
    arrived = 0;
    __atomic_store_n(&kind, wanted, __ATOMIC_RELAXED);
    while (arrived < workers)
        pthread_cond_wait(&switch_change, &switch_lock);
    own_kind = wanted;
    generation++;
    pthread_cond_broadcast(&switch_change);
    pthread_mutex_unlock(&switch_lock);
}
#endif
