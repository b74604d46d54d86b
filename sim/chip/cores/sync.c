/*
 * SPDX-License-Identifier: MIT
 *
 * Locks, posts and waits of a replay; see sync.h.
 */
#include "chip/cores/sync.h"

#include "chip/engine/allocation.h"

struct sync_lock {
    uint32_t holders;     /* how many have it */
    bool shared;          /* they are readers */
    uint32_t first, last; /* of those that wait */
};

bool sync_init(struct sync *sync, uint32_t threads)
{
    *sync = (struct sync){.threads = threads};
    sync->held = calloc(threads, sizeof *sync->held);
    sync->posts = calloc(threads, sizeof *sync->posts);
    sync->wanted = calloc(threads, sizeof *sync->wanted);
    sync->awaits = malloc(threads * sizeof *sync->awaits);
    sync->next = calloc(threads, sizeof *sync->next);
    sync->wants_share = calloc(threads, sizeof *sync->wants_share);
    if (sync->held == NULL || sync->posts == NULL || sync->wanted == NULL || sync->awaits == NULL ||
        sync->next == NULL || sync->wants_share == NULL)
        return false;
    for (uint32_t i = 0; i < threads; i++)
        sync->awaits[i] = SYNC_NOBODY;
    return true;
}

void sync_destroy(struct sync *sync)
{
    block_map_destroy(&sync->locks);
    free(sync->lock);
    for (uint32_t i = 0; i < sync->threads && sync->held != NULL; i++)
        free(sync->held[i].locks);
    free(sync->held);
    free(sync->posts);
    free(sync->wanted);
    free(sync->awaits);
    free(sync->next);
    free(sync->wants_share);
}

/* The lock's place in lock[]. Programs have address spaces of their own; addresses of programs are
 * below 2^47. */
static size_t place_of(struct sync *sync, uint32_t program, uint64_t address)
{
    uint64_t *place = block_map_add(&sync->locks, address ^ (uint64_t)program << 48);

    if (*place == 0) {
        if (sync->lock_count == sync->lock_room) {
            sync->lock_room = sync->lock_room == 0 ? 64 : 2 * sync->lock_room;
            sync->lock =
                allocation_checked(realloc(sync->lock, sync->lock_room * sizeof *sync->lock));
        }
        sync->lock[sync->lock_count] =
            (struct sync_lock){.first = SYNC_NOBODY, .last = SYNC_NOBODY};
        *place = ++sync->lock_count;
    }
    return *place - 1;
}

static void hold(struct sync_held *held, size_t place)
{
    if (held->count == held->room) {
        held->room = held->room == 0 ? 4 : 2 * held->room;
        held->locks = allocation_checked(realloc(held->locks, held->room * sizeof *held->locks));
    }
    held->locks[held->count++] = place;
}

static bool holds(const struct sync_held *held, size_t place)
{
    for (uint32_t i = 0; i < held->count; i++)
        if (held->locks[i] == place)
            return true;
    return false;
}

static void let_go(struct sync_held *held, size_t place)
{
    for (uint32_t i = held->count; i-- > 0;) {
        if (held->locks[i] == place) {
            held->locks[i] = held->locks[--held->count];
            return;
        }
    }
}

bool sync_acquire(struct sync *sync, uint32_t thread, uint32_t program, uint64_t address,
                  bool shared)
{
    size_t place = place_of(sync, program, address);
    struct sync_lock *lock = &sync->lock[place];
    bool again = holds(&sync->held[thread], place);

    hold(&sync->held[thread], place);
    if (again) {
        lock->holders++;
        return true;
    }
    if (lock->first == SYNC_NOBODY && (lock->holders == 0 || (shared && lock->shared))) {
        lock->holders++;
        lock->shared = shared;
        return true;
    }
    sync->next[thread] = SYNC_NOBODY;
    sync->wants_share[thread] = shared;
    if (lock->first == SYNC_NOBODY)
        lock->first = thread;
    else
        sync->next[lock->last] = thread;
    lock->last = thread;
    return false;
}

static void release(struct sync *sync, size_t place,
                    void (*granted)(void *context, uint32_t thread), void *context)
{
    struct sync_lock *lock = &sync->lock[place];

    /* A lock taken before the trace began is given back without having been taken. */
    if (lock->holders > 0)
        lock->holders--;
    while (lock->first != SYNC_NOBODY) {
        uint32_t thread = lock->first;
        bool shared = sync->wants_share[thread];

        if (lock->holders > 0 && !(shared && lock->shared))
            return;
        lock->first = sync->next[thread];
        lock->holders++;
        lock->shared = shared;
        granted(context, thread);
    }
}

void sync_release(struct sync *sync, uint32_t thread, uint32_t program, uint64_t address,
                  void (*granted)(void *context, uint32_t thread), void *context)
{
    size_t place = place_of(sync, program, address);

    let_go(&sync->held[thread], place);
    release(sync, place, granted, context);
}

void sync_release_all(struct sync *sync, uint32_t thread,
                      void (*granted)(void *context, uint32_t thread), void *context)
{
    struct sync_held *held = &sync->held[thread];

    while (held->count > 0)
        release(sync, held->locks[--held->count], granted, context);
}

bool sync_let_one_in(struct sync *sync, void (*granted)(void *context, uint32_t thread),
                     void *context)
{
    for (size_t i = 0; i < sync->lock_count; i++) {
        struct sync_lock *lock = &sync->lock[i];
        uint32_t thread = lock->first;

        if (thread == SYNC_NOBODY)
            continue;
        lock->first = sync->next[thread];
        lock->holders++;
        lock->shared = false;
        granted(context, thread);
        return true;
    }
    return false;
}

bool sync_wait(struct sync *sync, uint32_t thread, uint32_t poster, uint64_t post)
{
    if (poster >= sync->threads || sync->posts[poster] >= post)
        return true;
    sync->awaits[thread] = poster;
    sync->wanted[thread] = post;
    return false;
}

void sync_post(struct sync *sync, uint32_t thread, void (*ended)(void *context, uint32_t thread),
               void *context)
{
    uint64_t posts = ++sync->posts[thread];

    for (uint32_t i = 0; i < sync->threads; i++) {
        if (sync->awaits[i] == thread && sync->wanted[i] <= posts) {
            sync->awaits[i] = SYNC_NOBODY;
            ended(context, i);
        }
    }
}
