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
    bytes += -(uintptr_t)kept->base & (alignment - 1);
    return kept->node == node && kept->extent >= bytes ? kept->extent - bytes : SIZE_MAX;
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
        if (best == NULL)
            return NULL;
        if (!take_from(slot, best))
            continue;
        /* From here on no other thread may take it, but it may be another mapping than the one that
           was found: that it suits is looked at again. */
        if (misfit(best, bytes, alignment, node) != SIZE_MAX)
            return best;
        huge_keep_on(best);
    }
}

static bool was_kept_before(const struct huge *one, const struct huge *other)
{
    return one->since != other->since ? one->since < other->since : one->turn < other->turn;
}

struct huge *huge_cache_take_oldest(uint64_t time)
{
    for (;;) {
        struct huge *oldest = NULL;
        uint32_t slot = 0;

        for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
            struct huge *kept = mapping_in(i);

            if (kept != NULL && kept->since <= time &&
                (oldest == NULL || was_kept_before(kept, oldest))) {
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

/* Gives back those kept since this time or longer, until it is so many bytes. Returns how many. */
static size_t give_back(uint64_t time, size_t most)
{
    size_t bytes = 0;
    struct huge *record;

    while (bytes < most && (record = huge_cache_take_oldest(time)) != NULL) {
        bytes += record->extent;
        huge_give_back(record);
    }
    return bytes;
}

size_t huge_give_back_all(void)
{
    return give_back(UINT64_MAX, SIZE_MAX);
}

void huge_give_back_old(uint64_t now)
{
    enum { BYTES_MOST = 64 << 20 }; /* but one mapping at least: some ten milliseconds */
    int32_t time = decay_milliseconds();

    /* Closed pages are no memory, and for as long nobody gets their addresses. */
    if (harden_is_on() && time != DECAY_NEVER && time < DECAY_DEFAULT)
        time = DECAY_DEFAULT;
    if (time != DECAY_NEVER && now >= (uint64_t)time)
        (void)give_back(now - (uint64_t)time, BYTES_MOST);
}

void huge_keep_on(struct huge *huge)
{
    if (!huge_cache_put(huge))
        huge_give_back(huge);
}

static bool is_beside(const struct huge *kept, const struct huge *huge)
{
    return kept->node == huge->node &&
           (kept->base + kept->extent == huge->base || kept->base == huge->base + huge->extent);
}

/* A mapping of the same node that ends where this one begins or begins where it ends, or NULL. */
static struct huge *take_beside(const struct huge *huge)
{
    for (uint32_t i = 0; i < HUGE_CACHE_SLOTS; i++) {
        struct huge *kept = mapping_in(i);

        if (kept == NULL || !is_beside(kept, huge) || !take_from(i, kept))
            continue;
        if (is_beside(kept, huge))
            return kept;
        huge_keep_on(kept); /* another mapping by now */
    }
    return NULL;
}

void huge_join_neighbours(struct huge *huge)
{
    struct huge *other;

    while ((other = take_beside(huge)) != NULL) {
        /* The sum does not overflow: milliseconds below 2^40, and of all that is kept a GiB. */
        uint64_t mine = huge->extent / PAGE_BYTES, added = other->extent / PAGE_BYTES;

        huge->since = (huge->since * mine + other->since * added) / (mine + added);
        huge->base = other->base < huge->base ? other->base : huge->base;
        huge->extent += other->extent;
        huge_record_put(other);
    }
}

/* How many bytes of mappings may be kept: as many as are in use, within bounds. */
static size_t keep_most(void)
{
    /* Hardened, they are addresses without memory. */
    enum { LEAST = 32 << 20, LEAST_HARDENED = 256 << 20, MOST = 1 << 30 };
    size_t in_use = huge_totals.bytes + page_heap_used_bytes();
    size_t least = harden_is_on() ? LEAST_HARDENED : LEAST;

    return in_use < least ? least : in_use > MOST ? MOST : in_use;
}

/* Makes room for so many bytes among the kept ones: those kept for longest go, whole or in part. */
static void make_room(size_t bytes, size_t most)
{
    struct huge *oldest;

    for (;;) {
        size_t kept = huge_cache_bytes();

        if (kept + bytes <= most || (oldest = huge_cache_take_oldest(UINT64_MAX)) == NULL)
            return;
        size_t excess = round_up_to_pages(kept + bytes - most), rest = oldest->extent - excess;
        if (excess < oldest->extent && page_source_unmap(oldest->base + rest, excess)) {
            oldest->extent = rest;
            huge_keep_on(oldest);
        } else {
            huge_give_back(oldest);
        }
    }
}

bool huge_keep(struct huge *huge, uint64_t now)
{
    static _Atomic uint64_t turns;
    size_t most = keep_most();

    huge->since = now;
    huge->turn = turns++;
    /* Hardened, at least the one that was freed last. */
    if (!harden_is_on() && (decay_milliseconds() == DECAY_AT_ONCE || huge->extent > most))
        return false;
    make_room(huge->extent, most);
    /* Hardened: addresses without memory. Else the program may have protected a part, which the
       next block must be able to touch. Should the kernel refuse, it goes back as a whole. */
    if ((harden_is_on() && !page_source_purge(huge->base, huge->extent)) ||
        !page_source_protect(huge->base, huge->extent,
                             harden_is_on() ? PROT_NONE : PROT_READ | PROT_WRITE))
        return false;
    if (!harden_is_on())
        huge_join_neighbours(huge);
    if (huge_cache_put(huge))
        return true;
    (void)give_back(UINT64_MAX, 1); /* there was no slot: the oldest one goes */
    return huge_cache_put(huge);
}
