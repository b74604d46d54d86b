/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_cache.h. A search looks at all slots: a microsecond at most, where a block of 512 KiB
 * costs the kernel thirty to map and zero.
 */
#include "cia_malloc/huge_cache.h"

#include "cia_malloc/huge_mapping.h"

static struct slot {
    /* NULL: empty. Release when it is put, acquire when it is taken: the taker finds the record as
       it was left. */
    _Atomic(struct huge *) mapping;
    /* Hints, copied from the record by whoever puts it, just after it. Read by searches; a stale
       one makes a search choose badly, once. */
    _Atomic(char *) base;
    atomic_size_t bytes;
    _Atomic uint64_t since;
    _Atomic uint8_t node;
} slots[HUGE_CACHE_SLOTS];

static bool is_of_node(const struct slot *slot, uint8_t node)
{
    return atomic_load_explicit(&slot->node, memory_order_relaxed) == node;
}

static bool is_empty(const struct slot *slot)
{
    return atomic_load_explicit(&slot->mapping, memory_order_relaxed) == NULL;
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

static bool put_into(struct slot *slot, struct huge *huge)
{
    struct huge *expected = NULL;
    char *base = huge->base;
    size_t bytes = huge_extent(huge);
    uint64_t since = huge->since;
    uint8_t node = huge->node;

    if (!is_empty(slot) ||
        !atomic_compare_exchange_strong_explicit(&slot->mapping, &expected, huge,
                                                 memory_order_release, memory_order_relaxed))
        return false;
    /* From here on the record may be another thread's. */
    atomic_store_explicit(&slot->base, base, memory_order_relaxed);
    atomic_store_explicit(&slot->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&slot->since, since, memory_order_relaxed);
    atomic_store_explicit(&slot->node, node, memory_order_relaxed);
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

/* How little a mapping suits a block, for comparing; SIZE_MAX: not at all. */
static size_t misfit(size_t mapped, size_t bytes)
{
    if (mapped < bytes) /* the kernel has to zero the rest: after all that are long enough */
        return mapped < bytes / 8 ? SIZE_MAX : SIZE_MAX / 2 - mapped;
    /* What is left over of a longer one begins with a chunk, see huge.c. */
    return bytes < CHUNK_BYTES && mapped > 2 * bytes ? SIZE_MAX : mapped - bytes;
}

struct huge *huge_cache_take(size_t bytes, uint8_t node)
{
    enum { TRIES = 4 }; /* when another thread takes the one that was chosen */

    for (int tries = 0; tries < TRIES; tries++) {
        struct slot *best = NULL;
        size_t least = SIZE_MAX;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            size_t of_slot = is_empty(&slots[i]) || !is_of_node(&slots[i], node)
                                 ? SIZE_MAX
                                 : misfit(bytes_in(&slots[i]), bytes);

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

static bool are_beside(const char *base, size_t bytes, const struct huge *huge)
{
    return base + bytes == huge->base || base == huge->base + huge_extent(huge);
}

bool huge_cache_are_beside(const struct huge *one, const struct huge *other)
{
    return one->node == other->node && are_beside(one->base, huge_extent(one), other);
}

struct huge *huge_cache_take_beside(const struct huge *huge)
{
    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        if (is_empty(&slots[i]) || !is_of_node(&slots[i], huge->node) ||
            !are_beside(atomic_load_explicit(&slots[i].base, memory_order_relaxed),
                        bytes_in(&slots[i]), huge))
            continue;
        return take_from(&slots[i]);
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

            if (!is_empty(&slots[i]) && of_slot <= since) {
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
        count += !is_empty(&slots[i]);
    return count;
}

size_t huge_cache_bytes(void)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++)
        bytes += is_empty(&slots[i]) ? 0 : bytes_in(&slots[i]);
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
