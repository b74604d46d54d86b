/*
 * SPDX-License-Identifier: MIT
 *
 * Synchronisation of a replay. A lock is granted in simulated order, first come first served,
 * readers together. A wait ends when the recorded post that ended it has been replayed, whoever
 * replays first. Threads are named by the numbers that the caller gives them.
 */
#ifndef CHIP_SYNC_H
#define CHIP_SYNC_H

#include "chip/engine/block_map.h"

enum { SYNC_NOBODY = UINT32_MAX };

struct sync_lock;

/* The locks that a thread has or waits for: places in lock[], once an acquisition. */
struct sync_held {
    size_t *locks;
    uint32_t count, room;
};

struct sync {
    struct block_map locks; /* program and address to place in lock[], from 1 */
    struct sync_lock *lock;
    size_t lock_count, lock_room;
    uint32_t threads;
    struct sync_held *held; /* a thread's */
    uint64_t *posts;        /* a thread's, replayed */
    uint64_t *wanted;       /* a thread that waits: for this post */
    uint32_t *awaits;       /* of this thread, or SYNC_NOBODY */
    uint32_t *next;         /* in a lock's queue */
    uint8_t *wants_share;   /* in a lock's queue: as a reader */
};

/* False: out of memory. */
bool sync_init(struct sync *sync, uint32_t threads);
void sync_destroy(struct sync *sync);

/* True: the thread has the lock, which it may have had already: a recursive mutex, or a reader.
 * False: it is in the lock's queue, and sync_release will tell. */
bool sync_acquire(struct sync *sync, uint32_t thread, uint32_t program, uint64_t address,
                  bool shared);

/* Gives the lock back; calls `granted` for each thread that has it now. */
void sync_release(struct sync *sync, uint32_t thread, uint32_t program, uint64_t address,
                  void (*granted)(void *context, uint32_t thread), void *context);

/* The same for each acquisition of the thread that was not given back. */
void sync_release_all(struct sync *sync, uint32_t thread,
                      void (*granted)(void *context, uint32_t thread), void *context);

/* Lets the first thread that waits for a lock have it beside those that have it already, and calls
 * `granted` for it. False: nobody waits for a lock. */
bool sync_let_one_in(struct sync *sync, void (*granted)(void *context, uint32_t thread),
                     void *context);

/* True: the post was replayed. False: the thread waits, and sync_post will tell. */
bool sync_wait(struct sync *sync, uint32_t thread, uint32_t poster, uint64_t post);

/* The thread's next post; calls `ended` for each thread whose wait it ends. */
void sync_post(struct sync *sync, uint32_t thread, void (*ended)(void *context, uint32_t thread),
               void *context);

#endif
