/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_cache.h. A search looks at all slots: a microsecond at most, where a block of 512 KiB
 * costs the kernel thirty to map and zero.
 */
#include "cia_malloc/huge_cache.h"

#include "cia_malloc/large.h"

static struct slot {
    /* NULL: empty. Release when it is put, acquire when it is taken: the taker finds the record as
       it was left. */
    _Atomic(struct huge *) mapping;
    /* Hints, written by whoever puts the mapping, just after it. Read by searches; a stale one
       makes a search choose badly, once. */
    atomic_size_t bytes;
    _Atomic uint64_t since;
} slots[HUGE_CACHE_SLOTS];

static struct huge *mapping_in(const struct slot *slot)
{
    return atomic_load_explicit(&slot->mapping, memory_order_relaxed);
}

static size_t bytes_in(const struct slot *slot)
{
    return atomic_load_explicit(&slot->bytes, memory_order_relaxed);
}

/* NULL when another thread was first. */
static struct huge *take_from(struct slot *slot)
{
    return atomic_exchange_explicit(&slot->mapping, NULL, memory_order_acquire);
}

bool huge_cache_put(struct huge *huge, uint64_t now)
{
    size_t bytes = huge->mapped_bytes;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        struct huge *expected = NULL;

        if (mapping_in(&slots[i]) == NULL &&
            atomic_compare_exchange_strong_explicit(&slots[i].mapping, &expected, huge,
                                                    memory_order_release, memory_order_relaxed)) {
            atomic_store_explicit(&slots[i].bytes, bytes, memory_order_relaxed);
            atomic_store_explicit(&slots[i].since, now, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* What it costs to use a mapping: bytes to zero now, or to zero again later. SIZE_MAX: too much. */
static size_t cost_of(size_t mapped, size_t bytes)
{
    if (mapped >= bytes && mapped <= huge_cache_longest_for(bytes))
        return mapped - bytes;
    /* Longer than those that need not be cut, whichever side. */
    if (mapped < bytes)
        return mapped < bytes / 8 ? SIZE_MAX : bytes + (bytes - mapped);
    return mapped > 2 * bytes ? SIZE_MAX : bytes + (mapped - bytes);
}

struct huge *huge_cache_take(size_t bytes)
{
    /* Tried again when another thread took the one that was chosen. */
    for (int tries = 0; tries < 4; tries++) {
        struct slot *best = NULL;
        size_t least = SIZE_MAX;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            size_t cost =
                mapping_in(&slots[i]) != NULL ? cost_of(bytes_in(&slots[i]), bytes) : SIZE_MAX;

            if (cost < least) {
                least = cost;
                best = &slots[i];
            }
        }
        if (best == NULL)
            return NULL;
        struct huge *taken = take_from(best);
        if (taken != NULL)
            return taken;
    }
    return NULL;
}

struct huge *huge_cache_take_oldest(uint64_t time)
{
    for (;;) {
        struct slot *oldest = NULL;
        uint64_t since = time;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            uint64_t of_slot = atomic_load_explicit(&slots[i].since, memory_order_relaxed);

            if (mapping_in(&slots[i]) != NULL && of_slot <= since) {
                since = of_slot;
                oldest = &slots[i];
            }
        }
        if (oldest == NULL)
            return NULL;
        struct huge *taken = take_from(oldest);
        if (taken != NULL)
            return taken;
    }
}

size_t huge_cache_bytes(void)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        if (mapping_in(&slots[i]) != NULL)
            bytes += bytes_in(&slots[i]);
    }
    return bytes;
}
