/*
 * SPDX-License-Identifier: MIT
 *
 * The steps of magazine_sequences.h for who has the magazine alone: the holder of the lock where
 * magazines are under it, a thread with a lease of it, or who has withdrawn it.
 *
 * Words that a block depends on are stored last (release: the child of a fork, or statistics, find
 * the block where the word says). Where two words change, a child that is forked between the two
 * finds less than there is, never a block twice: by a signal handler that forks, or beside a step
 * of another thread for whose end fork did not wait.
 */
#ifndef MPLACE_CIA_MAGAZINE_HELD_H
#define MPLACE_CIA_MAGAZINE_HELD_H

#include "cia_malloc/magazine.h"

#include <string.h>

static inline uint64_t magazine_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void magazine_set_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static inline union magazine_bounds magazine_bounds_of(const struct magazine *magazine)
{
    return (union magazine_bounds){.word = magazine_word(&magazine->bounds)};
}

/* Blocks of the active level, and of the second. */
static inline uint32_t magazine_active_blocks(const struct magazine *magazine)
{
    return (uint32_t)(magazine_word(&magazine->top) & MAGAZINE_TOP_MASK) -
           magazine_bounds_of(magazine).floor;
}

static inline uint32_t magazine_second_blocks(const struct magazine *magazine)
{
    return (uint32_t)magazine_word(&magazine->second);
}

/* The place above the newest block of the stack. */
static inline char **magazine_next_place(struct magazine *magazine)
{
    return &magazine->store->stack[magazine_word(&magazine->top) & MAGAZINE_TOP_MASK];
}

static inline void magazine_grow(struct magazine *magazine, int64_t blocks)
{
    magazine_set_word(&magazine->top, magazine_word(&magazine->top) + (uint64_t)blocks);
}

static inline uintptr_t magazine_pop_held(struct magazine *magazine)
{
    uint64_t top = magazine_word(&magazine->top);
    uint32_t count = top & MAGAZINE_TOP_MASK;

    if (count == magazine_bounds_of(magazine).floor)
        return 0;
    char *block = magazine->store->stack[count - 1];
    uint64_t bits = magazine_word(&magazine->colours[0]);
    magazine_set_word(&magazine->colours[0], bits & ~((uint64_t)1 << magazine_colour(block)));
    magazine_set_word(&magazine->top, top + (MAGAZINE_SERVED - 1));
    return (uintptr_t)block;
}

static inline bool magazine_push_held(struct magazine *magazine, void *block)
{
    uint64_t top = magazine_word(&magazine->top);
    uint32_t count = top & MAGAZINE_TOP_MASK;
    uint64_t bits = magazine_word(&magazine->colours[0]);
    uint64_t bit = (uint64_t)1 << magazine_colour(block);

    if ((bits & bit) != 0 || count >= magazine_bounds_of(magazine).ceiling)
        return false;
    magazine->store->stack[count] = block;
    magazine_set_word(&magazine->colours[0], bits | bit);
    magazine_set_word(&magazine->top, top + 1);
    return true;
}

static inline bool magazine_push_second_held(struct magazine *magazine, void *block)
{
    uint32_t count = magazine_second_blocks(magazine);
    uint64_t bits = magazine_word(&magazine->colours[1]);
    uint64_t bit = (uint64_t)1 << magazine_colour(block);

    if ((bits & bit) != 0 || count >= magazine->limit)
        return false;
    magazine->store->second[count] = block;
    magazine_set_word(&magazine->colours[1], bits | bit);
    magazine_set_word(&magazine->second, count + 1);
    return true;
}

static inline bool magazine_set_aside_held(struct magazine *magazine)
{
    uint32_t count = magazine_active_blocks(magazine);

    if (magazine_second_blocks(magazine) != 0 || count == 0 || count > MAGAZINE_PLACES)
        return false;
    memcpy(magazine->store->second, magazine_next_place(magazine) - count,
           count * sizeof *magazine->store->second);
    magazine_set_word(&magazine->colours[1], magazine_word(&magazine->colours[0]));
    magazine_set_word(&magazine->colours[0], 0);
    magazine_grow(magazine, -(int64_t)count);
    magazine_set_word(&magazine->second, count);
    return true;
}

static inline bool magazine_join_held(struct magazine *magazine)
{
    uint32_t count = magazine_second_blocks(magazine);
    uint32_t together = magazine_active_blocks(magazine) + count;
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if (count == 0 || together > MAGAZINE_LEVEL_MOST ||
        bounds.floor + together + MAGAZINE_PLACES > bounds.ceiling)
        return false;
    memcpy(magazine_next_place(magazine), magazine->store->second,
           count * sizeof *magazine->store->second);
    magazine_set_word(&magazine->colours[0],
                      magazine_word(&magazine->colours[0]) | magazine_word(&magazine->colours[1]));
    magazine_set_word(&magazine->colours[1], 0);
    magazine_set_word(&magazine->second, 0);
    magazine_grow(magazine, count);
    return true;
}

static inline bool magazine_take_second_held(struct magazine *magazine)
{
    uint32_t count = magazine_second_blocks(magazine);

    if (magazine_active_blocks(magazine) != 0 || count == 0)
        return false;
    memcpy(magazine_next_place(magazine), magazine->store->second,
           count * sizeof *magazine->store->second);
    magazine_set_word(&magazine->colours[0], magazine_word(&magazine->colours[1]));
    magazine_set_word(&magazine->colours[1], 0);
    magazine_set_word(&magazine->second, 0);
    magazine_grow(magazine, count);
    return true;
}

static inline bool magazine_open_box_held(struct magazine *magazine)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if (magazine_active_blocks(magazine) != 0 || bounds.boxes == 0)
        return false;
    const struct magazine_box *box = &magazine->store->box[--bounds.boxes];
    bounds.floor = (uint16_t)box->floor;
    magazine_set_word(&magazine->colours[0], box->colours);
    magazine_set_word(&magazine->bounds, bounds.word);
    return true;
}

static inline bool magazine_close_box_held(struct magazine *magazine, uint32_t least)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);
    uint32_t count = magazine_active_blocks(magazine);

    if (count < least || bounds.floor + count + MAGAZINE_PLACES > bounds.ceiling ||
        bounds.boxes >= MAGAZINE_BOXES)
        return false;
    magazine->store->box[bounds.boxes++] = (struct magazine_box){
        .colours = magazine_word(&magazine->colours[0]), .floor = bounds.floor};
    bounds.floor = (uint16_t)(bounds.floor + count);
    magazine_set_word(&magazine->colours[0], 0);
    magazine_set_word(&magazine->bounds, bounds.word);
    return true;
}

static inline uint32_t magazine_unload_held(struct magazine *magazine, unsigned level,
                                            char *places[MAGAZINE_LEVEL_MOST])
{
    uint32_t count =
        level == 0 ? magazine_active_blocks(magazine) : magazine_second_blocks(magazine);

    if (count == 0)
        return 0;
    if (count > MAGAZINE_LEVEL_MOST)
        count = MAGAZINE_LEVEL_MOST;
    memcpy(places, level == 0 ? magazine_next_place(magazine) - count : magazine->store->second,
           count * sizeof *places);
    magazine_set_word(&magazine->colours[level], 0);
    if (level == 0)
        magazine_grow(magazine, -(int64_t)count);
    else
        magazine_set_word(&magazine->second, 0);
    return count;
}

static inline bool magazine_load_held(struct magazine *magazine,
                                      char *const places[MAGAZINE_PLACES], uint32_t count,
                                      uint64_t colours_of_them)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if (magazine_active_blocks(magazine) != 0 || bounds.floor + count > bounds.ceiling)
        return false;
    memcpy(magazine_next_place(magazine), places, count * sizeof *places);
    magazine_set_word(&magazine->colours[0], colours_of_them);
    magazine_grow(magazine, count);
    return true;
}

static inline void magazine_raise_ceiling_held(struct magazine *magazine)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if ((uint64_t)bounds.ceiling + MAGAZINE_CEILING_STEP > magazine->ceiling_most)
        return;
    bounds.ceiling = (uint16_t)(bounds.ceiling + MAGAZINE_CEILING_STEP);
    magazine_set_word(&magazine->bounds, bounds.word);
}

#endif
