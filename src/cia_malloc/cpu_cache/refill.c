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
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/cpu_cache/packing.h"

/*
 * A block from this CPU's sub-heap, and with it a load of the class's magazine, if it has one. A
 * thread that does not use sequences takes what is cached under the same lock first, and access
 * says from then on which magazine that is.
 */
static __attribute__((noinline)) uintptr_t refill_from_heap(struct magazine_access *access)
{
    bool by_sequences = magazine_area_is_usable(access->area);
    unsigned size_class = access->size_class;
    struct subheap *heap = heap_acquire();
    char *blocks[MAGAZINE_LOAD_MOST];
    const struct magazine *open;
    uintptr_t block = 0;

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    if (by_sequences) {
        open = heap_count_use(heap, size_class, true);
    } else {
        open = access->exclusive = magazine_under_lock(heap, size_class);
        if (open != NULL)
            block = access_take_cached(access);
    }
    if (block != 0) {
        subheap_unlock(heap);
        return block;
    }
    uint32_t most = open != NULL ? (uint32_t)open->load : 1;
    char **end = blocks + most;
    uint32_t count = subheap_load(heap, size_class, end, most);

    packing_after_load(heap, size_class);
    if (count > 0)
        block = (uintptr_t)end[-1];
    /* Refused where there is no room for a load; or by now this is another CPU, perhaps of another
       node, or another thread's load is there. */
    if (count > 1 && !access_load(access, heap->pages.node, end - count, count - 1))
        flush_blocks(heap, size_class, end - count, count - 1);
    if (count > 1 && !by_sequences)
        magazine_rise(heap->magazines, size_class);
    subheap_unlock(heap);
    /* Each load, and each call of a class that never has one: a program may make no others. */
    if (most > 1 || !class_is_cached(size_class))
        housekeeping_tick();
    return block;
}

uintptr_t refill_block(unsigned size_class)
{
    ptrdiff_t area = class_is_cached(size_class) ? magazine_area_here() : MAGAZINE_AREA_OFF;
    struct magazine_access access = access_to_take(area, size_class);
    uintptr_t block = magazine_area_is_usable(area) ? access_take_cached(&access) : 0;

    return block != 0 ? block : refill_from_heap(&access);
}

/* Under locks a thread that slept cannot be told from one that did not: the clock is looked at once
   in so many mallocs; more where that is a system call, which aborts a transaction. */
enum { USES_PER_CLOCK_CHECK = 32, USES_PER_CLOCK_CALL = 4096 };

/* Here and in overflow_push_locked, what is constant is read before the exchange, which the loads
   after it wait for. */
uintptr_t refill_pop_locked(uint32_t offset)
{
    struct subheap *heap = heap_of_this_cpu();

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    struct magazine *magazine = magazine_from(heap->magazines->own, offset);
    if (__builtin_expect(!subheap_try_lock(heap), 0))
        return 0;
    uintptr_t block = magazine_pop_exclusive(magazine);
    bool look = ++heap->uses % USES_PER_CLOCK_CHECK == 0 &&
                (clock_is_quick() || heap->uses % USES_PER_CLOCK_CALL == 0);
    subheap_unlock(heap);
    if (__builtin_expect(look, 0))
        housekeeping_tick();
    return block;
}
