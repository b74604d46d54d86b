/*
 * SPDX-License-Identifier: MIT
 *
 * The steps of magazine_sequences.h and magazine_access.h for a caller with exclusive access: the
 * holder of the lock where magazines are under it, or the thread that revoked them.
 *
 * Words that a block depends on are stored last (release: the child of a fork, or statistics, find
 * the block where the word says). Where two words change, a child that is forked between the two
 * finds less than there is, never a block twice: by a signal handler that forks, or beside a step
 * of another thread for whose end fork did not wait.
 */
#ifndef MPLACE_CIA_MAGAZINE_EXCLUSIVE_H
#define MPLACE_CIA_MAGAZINE_EXCLUSIVE_H

#include "cia_malloc/cpu_cache/magazine.h"

#include <string.h>

static inline uint64_t magazine_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void magazine_set_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* Acquire pairs with the release in magazine_open, which whoever took the magazines away does not
   keep out: a ceiling other than 0 comes with its store, if that is read after it. */
static inline union magazine_bounds magazine_bounds_of(const struct magazine *magazine)
{
    return (union magazine_bounds){
        .word = atomic_load_explicit(&magazine->bounds, memory_order_acquire)};
}

/* Blocks of the loaded magazine. */
static inline uint32_t magazine_loaded_blocks(const struct magazine *magazine)
{
    return (uint32_t)(magazine_word(&magazine->top) & MAGAZINE_TOP_MASK) -
           magazine_bounds_of(magazine).floor;
}

static inline uintptr_t magazine_pop_exclusive(struct magazine *magazine)
{
    struct magazine_store *store = magazine->store;
    uint64_t top = magazine_word(&magazine->top);
    size_t count = top & MAGAZINE_TOP_MASK;

    if (__builtin_expect(count == atomic_load_explicit(&magazine->floor, memory_order_relaxed), 0))
        return 0;
    char *block = store->stack[count - 1];
    store->colour[magazine_colour(block)] -= MAGAZINE_ONE_LESS;
    magazine_set_word(&magazine->top, top + (MAGAZINE_SERVED - 1));
    return (uintptr_t)block;
}

/* As magazine_push, of an address at which a block begins. */
static inline bool magazine_push_exclusive(struct magazine *magazine, void *block)
{
    uint64_t top = magazine_word(&magazine->top);
    size_t count = top & MAGAZINE_TOP_MASK;
    struct magazine_store *store = magazine->store;
    uint32_t address = magazine_low_address(block);

    if (count >= atomic_load_explicit(&magazine->ceiling, memory_order_relaxed))
        return false; /* perhaps there is no store */
    uint32_t *colour = &store->colour[magazine_colour(block)];
    if ((*colour & MAGAZINE_COUNT_FULL) != 0 || magazine_names(*colour, address))
        return false;
    store->stack[count] = block;
    *colour = address + (*colour & MAGAZINE_COUNT_MASK) + 1;
    magazine_set_word(&magazine->top, top + 1);
    return true;
}

static inline bool magazine_reload_exclusive(struct magazine *magazine)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if (magazine_loaded_blocks(magazine) != 0 || bounds.full == 0)
        return false;
    struct magazine_store *store = magazine->store;
    bounds.floor = (uint16_t)store->full_floor[--bounds.full];
    magazine_count(magazine, &store->stack[bounds.floor],
                   (uint32_t)(magazine_word(&magazine->top) & MAGAZINE_TOP_MASK) - bounds.floor);
    magazine_set_word(&magazine->bounds, bounds.word);
    return true;
}

static inline bool magazine_put_aside_exclusive(struct magazine *magazine)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);
    uint32_t count = magazine_loaded_blocks(magazine);

    if (count < MAGAZINE_FULL_LEAST || bounds.floor + count + MAGAZINE_COLOURS > bounds.ceiling ||
        bounds.full >= MAGAZINE_FULL_MOST)
        return false;
    struct magazine_store *store = magazine->store;
    store->full_floor[bounds.full++] = bounds.floor;
    magazine_count(magazine, NULL, 0);
    bounds.floor = (uint16_t)(bounds.floor + count);
    magazine_set_word(&magazine->bounds, bounds.word);
    return true;
}

static inline uint32_t magazine_unload_exclusive(struct magazine *magazine,
                                                 char *places[MAGAZINE_LOADED_MOST])
{
    if (magazine_bounds_of(magazine).ceiling == 0)
        return 0;
    struct magazine_store *store = magazine->store;
    uint32_t count = magazine_loaded_blocks(magazine);

    if (count > MAGAZINE_LOADED_MOST)
        count = MAGAZINE_LOADED_MOST;
    uint64_t top = magazine_word(&magazine->top) - count;
    memcpy(places, &store->stack[top & MAGAZINE_TOP_MASK], count * sizeof *places);
    memset(store->colour, 0, sizeof store->colour);
    magazine_count(magazine, NULL, 0);
    magazine_set_word(&magazine->top, top);
    return count;
}

static inline bool magazine_load_exclusive(struct magazine *magazine, char *const *places,
                                           uint32_t count)
{
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if (magazine_loaded_blocks(magazine) != 0 || bounds.floor + count > bounds.ceiling)
        return false;
    memcpy(&magazine->store->stack[bounds.floor], places, count * sizeof *places);
    magazine_count(magazine, places, count);
    magazine_set_word(&magazine->top, magazine_word(&magazine->top) + count);
    return true;
}

#endif
