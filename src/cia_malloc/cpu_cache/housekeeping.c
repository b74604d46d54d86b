/*
 * SPDX-License-Identifier: MIT
 *
 * See housekeeping.h.
 */
#include "cia_malloc/cpu_cache/housekeeping.h"

#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/large/large.h"
#include "cia_malloc/pages/purge.h"

/*
 * When to look at which sub-heap next. Read by every tick; written by the thread that does the
 * work, once in some hundred milliseconds. Relaxed: nothing is published by them. A thread that is
 * stopped in the middle holds nobody up, the next time comes all the same.
 */
static _Alignas(LINE_BYTES) _Atomic uint64_t next_time;
static _Atomic uint32_t next_number;

/* The next sub-heap in turn, and how many there are. */
static struct subheap *next_in_turn(uint32_t *count)
{
    uint32_t turn = atomic_load_explicit(&next_number, memory_order_relaxed);
    struct subheap *next = NULL;

    *count = 0;
    for (uint32_t i = 0; i < ALL_HEAPS; i++) {
        struct subheap *heap =
            atomic_load_explicit(&heap_table[(turn + i) % ALL_HEAPS], memory_order_acquire);

        *count += heap != NULL;
        if (next == NULL)
            next = heap;
    }
    if (next != NULL)
        atomic_store_explicit(&next_number, next->number + 1, memory_order_relaxed);
    return next;
}

enum { PURGE_PAGES_MOST = (64 << 20) / PAGE_BYTES }; /* at a look: ten milliseconds */

/* One sub-heap: flushes its CPU's magazines, takes in what was freed to it, and purges what is due;
   or all, once it is idle. */
static void maintain(struct subheap *heap, uint64_t now, int32_t decay_time)
{
    struct page_heap *pages = &heap->pages;
    bool flushed = heap->magazines != NULL && flush_if_due(heap, now);

    if (!subheap_try_lock(heap))
        return;
    /* A run that is kept for the next malloc may be idle by that, or by blocks that came back to
       their spans since the last flush. */
    if (flushed || subheap_has_inbox(heap))
        pages->trimmed_at = 0;
    subheap_drain(heap);
    if (pages->changed_at + (uint64_t)decay_time <= now && pages->trimmed_at != pages->changed_at) {
        (void)subheap_trim(heap, false);
        pages->trimmed_at = pages->changed_at;
    } else {
        purge_due(pages, now, PURGE_PAGES_MOST);
    }
    subheap_unlock(heap);
}

bool housekeeping_tick(void)
{
    int32_t decay_time = decay_milliseconds();
    uint64_t now, due = atomic_load_explicit(&next_time, memory_order_relaxed);
    uint32_t count;

    if (magazine_thread_is_vforked() || decay_time == DECAY_NEVER || (now = decay_clock()) < due)
        return false;
    uint64_t step = (uint64_t)decay_time / DECAY_STEPS;
    /* The others come too late; should the thread that wins be slow, they come in time again. */
    if (!atomic_compare_exchange_strong_explicit(&next_time, &due, now + step + 1,
                                                 memory_order_relaxed, memory_order_relaxed))
        return false;
    struct subheap *heap = next_in_turn(&count);
    if (heap == NULL)
        return true;
    /* Each of them has its turn as often as time makes a step. */
    uint64_t each = step / count + 1;
    uint64_t turns = due == 0 ? 1 : 1 + (now - due) / each;

    atomic_store_explicit(&next_time, now + each, memory_order_relaxed);
    for (turns = turns < count ? turns : count; heap != NULL && turns > 0; turns--) {
        maintain(heap, now, decay_time);
        if (turns > 1)
            heap = next_in_turn(&count);
    }
    huge_give_back_old(now);
    huge_unmap_refused();
    return true;
}
