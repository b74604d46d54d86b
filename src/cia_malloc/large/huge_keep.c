/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_keep.h.
 */
#include "cia_malloc/large/huge_keep.h"

#include "base/probes.h"
#include "cia_malloc/large/huge_cache.h"
#include "cia_malloc/large/huge_guarded.h"

size_t huge_give_back_all(void)
{
    size_t bytes = 0;
    struct huge *record;

    while ((record = huge_cache_take_oldest(UINT64_MAX)) != NULL) {
        bytes += record->extent;
        huge_give_back(record);
    }
    return bytes;
}

size_t huge_give_back_old(uint64_t now)
{
    enum { BYTES_MOST = 64 << 20 }; /* but one mapping at least: some ten milliseconds */
    int32_t time = decay_milliseconds();
    size_t bytes = 0;
    struct huge *record;

    while (time != DECAY_NEVER && now >= (uint64_t)time && bytes < BYTES_MOST &&
           (record = huge_cache_take_oldest(now - (uint64_t)time)) != NULL) {
        bytes += record->extent;
        huge_give_back(record);
    }
    return bytes;
}

void huge_keep_on(struct huge *huge)
{
    if (!huge_cache_put(huge))
        huge_give_back(huge);
}

/* How many bytes of mappings may be kept: as many as are in use, within bounds. */
static size_t keep_most(void)
{
    enum { LEAST = 64 << 20, MOST = 1 << 30 };
    size_t live, blocks;

    huge_totals(&live, &blocks);
    size_t in_use = live + page_heap_used_bytes();

    return in_use < LEAST ? LEAST : in_use > MOST ? MOST : in_use;
}

void huge_join_neighbours(struct huge *huge)
{
    struct huge *other;

    while ((other = huge_cache_take_beside(huge)) != NULL) {
        double mine = (double)huge->extent, added = (double)other->extent;

        huge->since = (uint64_t)(((double)huge->since * mine + (double)other->since * added) /
                                 (mine + added));
        huge->base = other->base < huge->base ? other->base : huge->base;
        huge->extent += other->extent;
        huge_record_put(other);
    }
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
            PROBE3(memory_given_back, oldest->base + rest, excess, 1);
            oldest->extent = rest;
            huge_keep_on(oldest);
        } else {
            huge_give_back(oldest);
        }
    }
}

bool huge_keep(struct huge *huge, uint64_t now)
{
    size_t most = keep_most();

    huge->since = now;
    if (decay_milliseconds() == DECAY_AT_ONCE || huge->extent > most)
        return false;
    make_room(huge->extent, most);
    /* Hardened: addresses without memory. Else the program may have protected a part, which the
       next block must be able to touch. Should the kernel refuse, it goes back as a whole. */
    if (harden_is_on() ? !huge_protect_whole(huge)
                       : !page_source_unprotect(huge->base, huge->extent))
        return false;
    if (!harden_is_on())
        huge_join_neighbours(huge);
    if (huge_cache_put(huge))
        return true;
    struct huge *oldest = huge_cache_take_oldest(UINT64_MAX); /* there was no slot */
    if (oldest != NULL)
        huge_give_back(oldest);
    return huge_cache_put(huge);
}
