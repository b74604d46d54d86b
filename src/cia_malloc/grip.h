/*
 * SPDX-License-Identifier: MIT
 *
 * The steps on a magazine in either way, by sequences or alone: a grip says which, and which
 * magazine. So what is done with them is written once, in supply.c and tiny.c. The steps themselves
 * are described in magazine_sequences.h.
 */
#ifndef MPLACE_CIA_GRIP_H
#define MPLACE_CIA_GRIP_H

#include "cia_malloc/magazine_held.h"
#include "cia_malloc/magazine_sequences.h"

/* How a thread works on a magazine. */
struct grip {
    struct magazine
        *held; /* that this thread has alone; NULL: by sequences, on the CPU where it is */
    ptrdiff_t area;
    uint32_t offset;
    enum magazine_side side;
};

static inline struct grip grip_to_take(ptrdiff_t area, unsigned size_class)
{
    return (struct grip){
        .area = area, .offset = magazine_offset(size_class, 0), .side = MAGAZINE_TAKE};
}

static inline uintptr_t grip_pop(const struct grip *grip)
{
    return grip->held != NULL ? magazine_pop_held(grip->held)
                              : magazine_pop(grip->area, grip->offset);
}

static inline bool grip_push(const struct grip *grip, void *block)
{
    return grip->held != NULL ? magazine_push_held(grip->held, block, true)
                              : magazine_push(grip->area, grip->offset, block);
}

static inline bool grip_push_anyway(const struct grip *grip, void *block)
{
    return grip->held != NULL ? magazine_push_held(grip->held, block, false)
                              : magazine_push_anyway(grip->area, grip->offset, block);
}

static inline bool grip_open_box(const struct grip *grip)
{
    return grip->held != NULL ? magazine_open_box_held(grip->held)
                              : magazine_open_box(grip->area, grip->offset, grip->side);
}

static inline bool grip_close_box(const struct grip *grip, uint32_t least)
{
    return grip->held != NULL ? magazine_close_box_held(grip->held, least)
                              : magazine_close_box(grip->area, grip->offset, least);
}

static inline uint32_t grip_unload(const struct grip *grip, char *blocks[MAGAZINE_LEVEL_MOST])
{
    return grip->held != NULL ? magazine_unload_held(grip->held, blocks)
                              : magazine_unload(grip->area, grip->offset, grip->side, blocks);
}

/* A block of what waits: of the level, which if need be was the last box. 0: none. */
static inline uintptr_t grip_take_waiting(const struct grip *grip)
{
    do {
        uintptr_t block = grip_pop(grip);

        if (block != 0)
            return block;
        /* A thread that is moved to another CPU in between finds other boxes there. */
    } while (grip_open_box(grip));
    return 0;
}

#endif
