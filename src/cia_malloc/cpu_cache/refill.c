/*
 * SPDX-License-Identifier: MIT
 *
 * See refill.h. What follows is written once for both ways to work on a magazine: struct
 * magazine_access says which one it is.
 */
#include "cia_malloc/cpu_cache/refill.h"

#include "base/clock.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/packing.h"

/*
 * A stack hands out its last place first: turned round, the blocks come out in the class heap's
 * order.
 */
static void turn_round(char **blocks, uint32_t count)
{
    for (uint32_t low = 0, high = count; low + 1 < high; low++) {
        char *block = blocks[low];

        blocks[low] = blocks[--high];
        blocks[high] = block;
    }
}

/*
 * Loads from the class heap, for the holder of the lock: the first one is to be served. 0 when out
 * of memory.
 */
static uint32_t load_from(struct subheap *heap, unsigned size_class, uint32_t most,
                          char *blocks[MAGAZINE_LOAD_MOST])
{
    uint32_t count = subheap_load(heap, size_class, blocks, most);

    packing_after_load(heap, size_class);
    if (count > 1)
        turn_round(blocks + 1, count - 1);
    return count;
}

/* All under the lock of this CPU's sub-heap. */
static __attribute__((noinline)) uintptr_t refill_locked(unsigned size_class)
{
    struct subheap *heap = heap_acquire();
    struct magazine_access access = {.size_class = size_class};
    char *blocks[MAGAZINE_LOAD_MOST];
    uintptr_t block = 0;
    bool cached = false;

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    access.exclusive = magazine_under_lock(heap, size_class);
    if (access.exclusive != NULL) {
        block = access_take_cached(&access);
        cached = block != 0;
    }
    if (!cached) {
        uint32_t most = access.exclusive != NULL ? (uint32_t)access.exclusive->load : 1;
        uint32_t count = load_from(heap, size_class, most, blocks);
        block = count > 0 ? (uintptr_t)blocks[0] : 0;
        if (count > 1) {
            /* Refused where the ceiling leaves no room for a load. */
            if (!magazine_load_exclusive(access.exclusive, blocks + 1, count - 1))
                flush_blocks(heap, size_class, blocks + 1, count - 1);
            if (magazine_may_rise(heap->magazines, size_class))
                magazine_raise_ceiling_exclusive(access.exclusive);
        }
    }
    subheap_unlock(heap);
    /* Each load, and each call of a class that never has one: a program may make no others. */
    if (!cached && (access.exclusive != NULL || !class_is_cached(size_class)))
        flush_housekeeping();
    return block;
}

static uintptr_t refill_by_sequences(ptrdiff_t area, unsigned size_class)
{
    char *blocks[MAGAZINE_LOAD_MOST];
    uint32_t count, most = 1;
    struct subheap *heap = heap_acquire();
    const struct magazine *open;
    bool may_rise = false;

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    open = heap_count_use(heap, size_class, &may_rise);
    if (open != NULL)
        most = (uint32_t)open->load;
    count = load_from(heap, size_class, most, blocks);
    subheap_unlock(heap);
    /* By now this may be another CPU, perhaps of another node, or another thread's load be there.
     */
    if (count > 1 &&
        !magazine_load(area, magazine_offset(size_class, heap->pages.node), blocks + 1, count - 1))
        flush_blocks_here(size_class, blocks + 1, count - 1);
    if (may_rise)
        magazine_raise_ceiling(area, magazine_offset(size_class, 0));
    if (most > 1)
        flush_housekeeping();
    return count > 0 ? (uintptr_t)blocks[0] : 0;
}

uintptr_t refill_block(unsigned size_class)
{
    ptrdiff_t area = magazine_area_here();

    if (class_is_cached(size_class) && magazine_area_is_usable(area)) {
        struct magazine_access access = access_to_take(area, size_class);
        uintptr_t block = access_take_cached(&access);

        return block != 0 ? block : refill_by_sequences(area, size_class);
    }
    return refill_locked(size_class);
}

/* Under locks a thread that slept cannot be told from one that did not: the clock is looked at once
   in so many mallocs; more where that is a system call, which aborts a transaction. */
enum { USES_PER_CLOCK_CHECK = 32, USES_PER_CLOCK_CALL = 4096 };

/* Here and in overflow_push_locked, what is constant is read before the exchange, which the loads
   after it wait for. */
uintptr_t refill_pop_locked(unsigned size_class)
{
    struct subheap *heap = heap_with_magazines();

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    struct magazine *magazine = &heap->magazines->own[size_class];
    if (__builtin_expect(!subheap_try_lock(heap), 0))
        return 0;
    uintptr_t block = magazine_pop_exclusive(magazine);
    bool look = ++heap->uses % USES_PER_CLOCK_CHECK == 0 &&
                (clock_is_quick() || heap->uses % USES_PER_CLOCK_CALL == 0);
    subheap_unlock(heap);
    if (__builtin_expect(look, 0))
        flush_housekeeping();
    return block;
}
