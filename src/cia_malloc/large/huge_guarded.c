/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_guarded.h.
 */
#include "cia_malloc/large/huge_guarded.h"

#include "cia_malloc/large/huge_cache.h"

enum {
    /* Mappings with guard pages on both sides are three to the kernel, which has 65,530 for a
       process. With so many of them blocks that can do without a mapping do without. */
    GUARDED_MOST = 16 << 10,
    /* So many mappings of freed blocks stay protected; the oldest of more may serve another block.
     */
    PROTECTED_KEPT = HUGE_CACHE_SLOTS / 2,
};

bool huge_guarded_is_wanted(void)
{
    size_t bytes, blocks;

    if (!harden_is_on())
        return false;
    huge_totals(&bytes, &blocks);
    return blocks < GUARDED_MOST;
}

/* Bytes of guard pages before the pages of the block. */
static size_t guard_before(const struct huge *record)
{
    return (size_t)(record->block - record->base) & ~(size_t)(PAGE_BYTES - 1);
}

void huge_protect_both_sides(const struct huge *record)
{
    (void)page_source_protect(record->base, guard_before(record));
    (void)page_source_protect(record->base + record->used_bytes,
                              record->extent - record->used_bytes);
}

bool huge_protect_whole(const struct huge *record)
{
    return page_source_purge(record->base, record->extent) &&
           page_source_protect(record->base, record->extent);
}

void *huge_reuse_protected(size_t total, size_t offset, uint8_t node)
{
    size_t least = total + huge_guard_bytes(), before = offset & ~(size_t)(PAGE_BYTES - 1);
    struct huge *oldest =
        huge_cache_count() > PROTECTED_KEPT ? huge_cache_take_oldest(UINT64_MAX) : NULL;

    if (oldest == NULL)
        return NULL;
    if (oldest->extent >= least && oldest->extent <= huge_guarded_extent_for(least) &&
        oldest->node == node && page_source_unprotect(oldest->base + before, total - before))
        return huge_begin(oldest, offset, total);
    huge_give_back(oldest);
    return NULL;
}

size_t huge_guarded_extent_for(size_t total)
{
    return total >= CHUNK_BYTES ? (total + CHUNK_BYTES - 1) & ~(size_t)(CHUNK_BYTES - 1)
                                : (size_t)1 << (64 - __builtin_clzll(total - 1));
}

void *huge_resize_guarded(struct huge *huge, size_t new_bytes)
{
    size_t offset = (size_t)(huge->block - huge->base);
    size_t total = round_up_to_pages(new_bytes + offset);
    size_t old = huge->used_bytes, extent = huge->extent;

    if (total <= old) {
        if (total < old && !page_source_purge(huge->base + total, old - total))
            return NULL;
        /* As far as the kernel will: what the block had there is gone already. */
        (void)page_source_protect(huge->base + total, old - total);
    } else if (total + huge_guard_bytes() > extent ||
               !page_source_unprotect(huge->base + old, total - old)) {
        return NULL;
    }
    return huge_resized(huge, total, extent);
}
