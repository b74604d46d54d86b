/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_cache.h. A search looks at all slots: a microsecond at most, where a block of 512 KiB
 * costs the kernel thirty to map and zero.
 */
#include "cia_malloc/large/huge_cache.h"

_Atomic(struct huge *) huge_cache[HUGE_CACHE_SLOTS];

/* Acquire pairs with the release in huge_cache_put: what is read of the mapping is what it was when
   it was put there, or newer. */
static struct huge *mapping_in(uint32_t slot)
{
    return atomic_load_explicit(&huge_cache[slot], memory_order_acquire);
}

/* False when another thread was first. If one took it and put it back since it was looked at, it
   may be another mapping by now. */
static bool take_from(uint32_t slot, struct huge *kept)
{
    return atomic_compare_exchange_strong_explicit(&huge_cache[slot], &kept, NULL,
                                                   memory_order_acquire, memory_order_relaxed);
}

bool huge_cache_put(struct huge *huge)
{
    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        struct huge *none = NULL;

        if (mapping_in(i) == NULL &&
            atomic_compare_exchange_strong_explicit(&huge_cache[i], &none, huge,
                                                    memory_order_release, memory_order_relaxed))
            return true;
    }
    return false;
}

/* How little a mapping suits a block, for comparing; SIZE_MAX: not at all. */
static size_t misfit(const struct huge *kept, size_t bytes, size_t alignment, uint8_t node)
{
    size_t extent = kept->extent;

    bytes += -(uintptr_t)kept->base & (alignment - 1);
    if (kept->node != node)
        return SIZE_MAX;
    if (extent >= bytes)
        return extent - bytes;
    /* The kernel has to zero the rest: after all that are long enough. It may move what grows, so
       an alignment beyond a page is not kept. */
    return alignment > PAGE_BYTES || extent < bytes / 8 ? SIZE_MAX : SIZE_MAX / 2 - extent;
}

struct huge *huge_cache_take(size_t bytes, size_t alignment, uint8_t node)
{
    for (;;) {
        struct huge *best = NULL;
        uint32_t slot = 0;
        size_t least = SIZE_MAX;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            struct huge *kept = mapping_in(i);
            size_t of_kept = kept != NULL ? misfit(kept, bytes, alignment, node) : SIZE_MAX;

            if (of_kept < least) {
                least = of_kept;
                best = kept;
                slot = i;
            }
        }
        if (best == NULL || take_from(slot, best))
            return best;
    }
}

static bool is_beside(const struct huge *kept, const struct huge *huge)
{
    return kept->node == huge->node &&
           (kept->base + kept->extent == huge->base || kept->base == huge->base + huge->extent);
}

struct huge *huge_cache_take_beside(const struct huge *huge)
{
    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        struct huge *kept = mapping_in(i);

        if (kept == NULL || !is_beside(kept, huge) || !take_from(i, kept))
            continue;
        if (is_beside(kept, huge))
            return kept;
        if (!huge_cache_put(kept)) /* another mapping by now */
            huge_give_back(kept);
    }
    return NULL;
}

struct huge *huge_cache_take_oldest(uint64_t time)
{
    for (;;) {
        struct huge *oldest = NULL;
        uint32_t slot = 0;
        uint64_t since = time;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            struct huge *kept = mapping_in(i);
            uint64_t of_kept = kept != NULL ? kept->since : UINT64_MAX;

            if (kept != NULL && of_kept <= since) {
                since = of_kept;
                oldest = kept;
                slot = i;
            }
        }
        if (oldest == NULL || take_from(slot, oldest))
            return oldest;
    }
}

uint32_t huge_cache_count(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++)
        count += mapping_in(i) != NULL;
    return count;
}

size_t huge_cache_bytes(void)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        const struct huge *kept = mapping_in(i);

        bytes += kept != NULL ? kept->extent : 0;
    }
    return bytes;
}
