/*
 * SPDX-License-Identifier: MIT
 *
 * See magazine_overflow.h.
 */
#include "cia_malloc/cpu_cache/magazine_overflow.h"

#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/housekeeping.h"

/*
 * Whether a block that is freed waits in a magazine already: a look at the places, for whoever
 * finds that the loaded magazine does not take it. Whoever works on the magazine meanwhile: places
 * below the top held blocks that waited when it was read, and have been written only with blocks
 * that wait since, or are in another thread's hands; the caller's is none of them. So it is true
 * only of a block that does wait. What waits as it was loaded, never freed, has MAGAZINE_UNTOUCHED
 * and is not meant.
 *
 * among: looks at so many of the last places.
 */
static bool magazine_has(const struct magazine *magazine, const void *block, uint32_t among)
{
    uint32_t top = magazine_cached(magazine);

    for (uint32_t i = top < among ? 0 : top - among; i < top; i++) {
        if (__atomic_load_n(&magazine->store->stack[i], __ATOMIC_RELAXED) == block)
            return true;
    }
    return false;
}

/*
 * Whether there is no room for another magazine above the loaded one, as on a CPU that frees what
 * others allocate; and the loaded one has as many blocks as a load, or, if it is all that is
 * cached, nearly all there may be: a CPU that takes as many blocks as it gives back is not to be
 * without any all the time.
 */
static bool is_to_be_flushed(const struct magazine *now)
{
    union magazine_bounds bounds = magazine_bounds_of(now);
    uint32_t loaded = magazine_loaded_blocks(now);

    return (bounds.full >= MAGAZINE_FULL_MOST ||
            bounds.floor + loaded + MAGAZINE_COLOURS > bounds.ceiling) &&
           loaded >= (bounds.full > 0 ? MAGAZINE_LOAD_MOST : bounds.ceiling * 3U / 4);
}

/*
 * Finds a place in a magazine that did not take a block. now says what the loaded magazine holds,
 * roughly where it is worked on by sequences: after the loaded magazine was put aside; or, if there
 * can be no more, after its blocks were flushed. So blocks that are freed in the order of their
 * allocation come by here once in MAGAZINE_LOADED_MOST times. Else false: the caller returns this
 * one block.
 */
static bool put_elsewhere(const struct magazine_access *access, struct magazine *now,
                          struct subheap *locked, uint32_t start, void *address)
{
    enum { LOOKED_AT = 8 };

    if (magazine_bounds_of(now).ceiling == 0)
        return false;
    /* It is said to be the last of its colour that was freed there: a hint. */
    bool suspected = magazine_names(
        __atomic_load_n(&now->store->colour[magazine_colour(address)], __ATOMIC_RELAXED),
        magazine_low_address(address));
    if (__builtin_expect(magazine_has(now, address, suspected ? UINT32_MAX : LOOKED_AT), 0)) {
        struct block block = block_at(page_map_chunk(address), address);

        subheap_double_free(&block.chunk->spans[block.span], block.bit);
    }
    if (!suspected && access_put_aside(access))
        return access_push(access, start, address);
    /* Wrongly suspected, or empty, and refused it: what the words say was left by a sequence that
       was interrupted. */
    if (!suspected && magazine_loaded_blocks(now) != 0 && !is_to_be_flushed(now))
        return false;
    atomic_store_explicit(&now->overflowed, true, memory_order_relaxed);
    flush_loaded(access, locked);
    if (locked == NULL)
        housekeeping_tick();
    return access_push(access, start, address);
}

bool overflow_by_sequence(ptrdiff_t area, const struct page_info *info, void *address)
{
    struct magazine_access access = {.size_class = info->size_class,
                                     .area = area,
                                     .offset = info->magazine,
                                     .table = magazine_to_put};

    /* That of this CPU, or an empty one without room; a hint by the time it is used. */
    uint32_t cpu = (uint32_t)rseq_cpu() % CPU_HEAPS;
    struct magazine_region *region =
        atomic_load_explicit(&magazine_to_put[cpu], memory_order_acquire);

    return put_elsewhere(&access, magazine_from(region, info->magazine), NULL, info->start,
                         address);
}

bool overflow_push_locked(const struct page_info *info, void *address)
{
    struct subheap *heap = heap_of_this_cpu();

    if (__builtin_expect(heap == NULL, 0))
        return false;
    struct magazine *magazine = magazine_from(heap->magazines->region, info->magazine);
    if (__builtin_expect(!subheap_try_lock(heap), 0))
        return false;
    bool pushed = magazine_push_exclusive(magazine, address);
    subheap_unlock(heap);
    return pushed;
}

/* The same for the holder of the lock, where that is the way, with all the places there are. */
static bool put_under_lock(struct subheap *heap, const struct page_info *info, void *address)
{
    if (magazine_under_lock(heap, info->size_class) == NULL)
        return false;
    /* As free does by sequences: for a block of another node, one without room. */
    struct magazine_access access = {.size_class = info->size_class,
                                     .exclusive =
                                         magazine_from(heap->magazines->region, info->magazine)};
    return magazine_push_exclusive(access.exclusive, address) ||
           put_elsewhere(&access, access.exclusive, heap, info->start, address);
}

void overflow_block(const struct page_info *info, void *address)
{
    /* The one that this thread allocates from: anyone else's line would be taken away from them. */
    struct subheap *heap = heap_try_acquire();
    if (heap == NULL || !put_under_lock(heap, info, address)) {
        struct block block = block_at(page_map_chunk(address), address);

        flush_block(heap, &block);
    }
    if (heap != NULL)
        subheap_unlock(heap);
}
