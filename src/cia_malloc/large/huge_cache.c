/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_cache.h. A search looks at all slots: a microsecond at most, where a block of 512 KiB
 * costs the kernel thirty to map and zero.
 */
#include "cia_malloc/large/huge_cache.h"

#include "cia_malloc/large/huge_mapping.h"

/*
 * From empty to claimed by compare-and-swap; then the hints, then the mapping, by a store
 * (release). From the mapping to empty by compare-and-swap (acquire): the taker finds the record as
 * it was left. A child of fork may find a slot claimed by a thread that it does not have: one fewer
 * there.
 */
static struct huge claimed;

static struct slot {
    _Atomic(struct huge *) mapping; /* NULL: empty; or &claimed */
    /* Hints, of the record. Read by searches; those of a slot that is taken and put into meanwhile
       make a search choose badly, once. */
    _Atomic(char *) base;
    atomic_size_t bytes;
    _Atomic uint64_t since;
    _Atomic uint8_t node;
} slots[HUGE_CACHE_SLOTS];

static bool is_of_node(const struct slot *slot, uint8_t node)
{
    return atomic_load_explicit(&slot->node, memory_order_relaxed) == node;
}

static bool has_mapping(const struct slot *slot)
{
    /* Acquire: the hints are those of this mapping, or newer. */
    const struct huge *mapping = atomic_load_explicit(&slot->mapping, memory_order_acquire);

    return mapping != NULL && mapping != &claimed;
}

static size_t bytes_in(const struct slot *slot)
{
    return atomic_load_explicit(&slot->bytes, memory_order_relaxed);
}

/* NULL when another thread was first. */
static struct huge *take_from(struct slot *slot)
{
    struct huge *mapping = atomic_load_explicit(&slot->mapping, memory_order_relaxed);

    return mapping != NULL && mapping != &claimed &&
                   atomic_compare_exchange_strong_explicit(
                       &slot->mapping, &mapping, NULL, memory_order_acquire, memory_order_relaxed)
               ? mapping
               : NULL;
}

static bool put_into(struct slot *slot, struct huge *huge)
{
    struct huge *expected = NULL;

    if (atomic_load_explicit(&slot->mapping, memory_order_relaxed) != NULL ||
        !atomic_compare_exchange_strong_explicit(&slot->mapping, &expected, &claimed,
                                                 memory_order_relaxed, memory_order_relaxed))
        return false;
    atomic_store_explicit(&slot->base, huge->base, memory_order_relaxed);
    atomic_store_explicit(&slot->bytes, huge->extent, memory_order_relaxed);
    atomic_store_explicit(&slot->since, huge->since, memory_order_relaxed);
    atomic_store_explicit(&slot->node, huge->node, memory_order_relaxed);
    atomic_store_explicit(&slot->mapping, huge, memory_order_release);
    return true;
}

bool huge_cache_put(struct huge *huge)
{
    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        if (put_into(&slots[i], huge))
            return true;
    }
    return false;
}

/* How little a slot's mapping suits a block, for comparing; SIZE_MAX: not at all. */
static size_t misfit(const struct slot *slot, size_t bytes, size_t alignment)
{
    size_t mapped = bytes_in(slot);
    uintptr_t base = (uintptr_t)atomic_load_explicit(&slot->base, memory_order_relaxed);

    bytes += -base & (alignment - 1);
    if (mapped >= bytes)
        return mapped - bytes;
    /* The kernel has to zero the rest: after all that are long enough. It may move what grows, so
       an alignment beyond a page is not kept. */
    return alignment > PAGE_BYTES || mapped < bytes / 8 ? SIZE_MAX : SIZE_MAX / 2 - mapped;
}

struct huge *huge_cache_take(size_t bytes, size_t alignment, uint8_t node)
{
    enum { TRIES = 4 }; /* when another thread takes the one that was chosen */

    for (int tries = 0; tries < TRIES; tries++) {
        struct slot *best = NULL;
        size_t least = SIZE_MAX;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            size_t of_slot = has_mapping(&slots[i]) && is_of_node(&slots[i], node)
                                 ? misfit(&slots[i], bytes, alignment)
                                 : SIZE_MAX;

            if (of_slot < least) {
                least = of_slot;
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

struct huge *huge_cache_take_beside(const struct huge *huge)
{
    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        if (!has_mapping(&slots[i]) || !is_of_node(&slots[i], huge->node))
            continue;
        const char *base = atomic_load_explicit(&slots[i].base, memory_order_relaxed);
        struct huge *taken;

        if ((base + bytes_in(&slots[i]) != huge->base && base != huge->base + huge->extent) ||
            (taken = take_from(&slots[i])) == NULL)
            continue;
        if (taken->base + taken->extent == huge->base || taken->base == huge->base + huge->extent)
            return taken;
        if (!huge_cache_put(taken)) /* the hints were of another one */
            huge_give_back(taken);
    }
    return NULL;
}

struct huge *huge_cache_take_oldest(uint64_t time)
{
    for (;;) {
        struct slot *oldest = NULL;
        uint64_t since = time;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            bool has = has_mapping(&slots[i]);
            uint64_t of_slot = atomic_load_explicit(&slots[i].since, memory_order_relaxed);

            if (has && of_slot <= since) {
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

uint32_t huge_cache_count(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++)
        count += has_mapping(&slots[i]);
    return count;
}

size_t huge_cache_bytes(void)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++)
        bytes += has_mapping(&slots[i]) ? bytes_in(&slots[i]) : 0;
    return bytes;
}

struct huge_cache_at huge_cache_at(void)
{
    return (struct huge_cache_at){
        .first = (uintptr_t)slots,
        .count = HUGE_CACHE_SLOTS,
        .stride = sizeof slots[0],
        .mapping_offset = offsetof(struct slot, mapping),
        .bytes_offset = offsetof(struct slot, bytes),
    };
}
