/*
 * SPDX-License-Identifier: MIT
 *
 * See huge.h.
 */
#include "cia_malloc/huge.h"

#include "base/probes.h"
#include "cia_malloc/block.h"
#include "cia_malloc/huge_cache.h"
#include "cia_malloc/huge_closed.h"

/*
 * Where in its mapping a block begins, by its colour. All mappings begin at a multiple of 4 MiB,
 * and pages that lie a power of two apart share a set of the TLB and of the L2: so the page is
 * taken in turn as well. The pages before it are never touched. (128 buffers read in step, 4 MiB
 * less a line apart: 10.7 ns a line; 4 MiB and a page and a line: 3.2.)
 */
static size_t offset_of_colour(uint32_t colour, size_t alignment)
{
    enum { PAGES_IN_TURN = 32 }; /* 128 KiB of addresses */
    size_t page = (size_t)(colour % PAGES_IN_TURN) * PAGE_BYTES + huge_guard_bytes();

    if (alignment <= LINE_BYTES)
        return page + (size_t)colour * LINE_BYTES;
    if (alignment <= PAGE_BYTES)
        return page;
    /* What is closed before the block is a multiple of its alignment, if that is no whole chunk. */
    return huge_guard_bytes() != 0 && alignment < CHUNK_BYTES ? alignment : 0;
}

static void *huge_map(struct huge *record, size_t total, size_t offset, size_t alignment)
{
    if (alignment < CHUNK_BYTES)
        alignment = CHUNK_BYTES;
    size_t least = total + huge_guard_bytes();

    if (!huge_map_extent(record, huge_extent_for(least), total, alignment) &&
        !huge_map_extent(record, least, total, alignment) &&
        (huge_give_back_all() == 0 || !huge_map_extent(record, least, total, alignment))) {
        huge_record_put(record);
        return NULL;
    }
    void *block = huge_begin(record, offset);
    if (block != NULL && harden_is_on())
        huge_close_both_sides(record);
    return block;
}

/* Makes a kept mapping longer: page tables change, and only pages that it did not have are zeroed.
 */
static bool extend(struct huge *record, size_t extent)
{
    if (!page_source_resize(record->base, huge_extent(record), extent)) {
        char *base = page_source_map(extent, CHUNK_BYTES);

        if (base == NULL)
            return false;
        if (!page_source_move(record->base, huge_extent(record), base, extent))
            return false; /* the new place may be another thread's by now, see huge_resize */
        record->base = base;
    }
    record->spare_bytes = extent - record->mapped_bytes;
    return true;
}

/* Whether a kept mapping has a rest, beside what a block needs, that is worth keeping. */
static bool has_rest(const struct huge *kept, size_t total)
{
    return total >= CHUNK_BYTES && huge_extent(kept) >= huge_extent_for(total) + CHUNK_BYTES;
}

/*
 * Cuts what a block does not need off a kept mapping. What is left of its last chunk stays where it
 * is, but does not stay populated if it is much. What is left beside that is kept, in this record,
 * for as long as it would have been.
 */
static void cut(struct huge *record, size_t total, struct huge *rest)
{
    size_t extent = huge_extent(record);

    if (rest != NULL) {
        *rest = (struct huge){
            .base = record->base + huge_extent_for(total),
            .mapped_bytes = extent - huge_extent_for(total),
            .since = record->since,
            .node = record->node,
        };
        extent = huge_extent_for(total);
        huge_keep_on(rest);
    }
    record->mapped_bytes = total;
    record->spare_bytes = extent - total;
    if (record->spare_bytes > total / 2) {
        PROBE3(memory_given_back, record->base + total, record->spare_bytes, 0);
        page_source_purge(record->base + total, record->spare_bytes);
    }
}

/* A block in a mapping that was kept. NULL, and the mapping kept on, when it cannot grow. */
static void *huge_reuse(struct huge *kept, size_t total, size_t offset, struct huge *rest)
{
    if (huge_extent(kept) < total && !extend(kept, huge_extent_for(total))) {
        huge_keep_on(kept);
        return NULL;
    }
    cut(kept, total, rest);
    return huge_begin(kept, offset);
}

void *huge_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment,
                               uint32_t colour, bool *zeroed)
{
    size_t offset = offset_of_colour(colour, alignment);
    size_t total = round_up_to_pages(bytes + offset);
    uint8_t node = heap->pages.node;
    /* Kept mappings are aligned to chunks. Their records come with them. */
    bool reuse = alignment <= CHUNK_BYTES;
    struct huge *kept = reuse && !harden_is_on() ? huge_cache_take(total, node) : NULL;
    bool rest = kept != NULL && has_rest(kept, total);
    struct huge *record =
        kept == NULL || rest || huge_extent(kept) < total ? huge_record_take(heap) : NULL;

    if (record != NULL)
        record->node = node;
    subheap_unlock(heap);
    if (reuse && harden_is_on()) {
        void *block = huge_reopen(total, offset, node);

        if (block != NULL) {
            if (record != NULL)
                huge_record_put(record);
            *zeroed = true; /* it was purged when it was closed */
            return block;
        }
    }
    if (kept != NULL) {
        void *block = huge_reuse(kept, total, offset, rest ? record : NULL);

        if (block != NULL) {
            if (record != NULL && !rest)
                huge_record_put(record);
            *zeroed = false;
            return block;
        }
        if (rest)
            return NULL; /* no memory, not even for a leaf of the table */
    }
    *zeroed = true;
    return record != NULL ? huge_map(record, total, offset, alignment) : NULL;
}

void huge_free(struct huge *huge)
{
    uint64_t now = decay_clock();

    huge_finish(huge);
    huge_give_back_old(now);
    if (!huge_keep(huge, now))
        huge_give_back(huge);
}

struct huge *huge_at(void *owner, const void *address)
{
    struct huge *huge = owner;

    if (__builtin_expect(huge->block != address, 0))
        block_is_wrong(address, "inside a block");
    return huge;
}

void *huge_resize(struct huge *huge, size_t new_bytes)
{
    if (harden_is_on())
        return huge_resize_closed(huge, new_bytes);
    size_t offset = (size_t)(huge->block - huge->base);
    size_t total = round_up_to_pages(new_bytes + offset);
    size_t extent = huge_extent(huge);

    if (total < huge->mapped_bytes) { /* what it had so far may be populated */
        PROBE3(memory_given_back, huge->base + total, extent - total, 1);
        page_source_unmap(huge->base + total, extent - total);
        extent = total;
    } else if (total > extent && page_source_resize(huge->base, extent, total)) {
        extent = total;
    } else if (total > extent) {
        char *base = page_source_map(total, CHUNK_BYTES);

        if (base == NULL)
            return NULL;
        /* Register first: it is what can fail. */
        if (!page_source_register(base + offset, huge)) {
            page_source_unmap(base, total);
            return NULL;
        }
        /* Forget the old place while it is still ours: once the pages have moved, another thread
           may map it and register it. */
        page_source_forget(huge->block);
        if (!page_source_move(huge->base, extent, base, total)) {
            (void)page_source_register(huge->block, huge); /* the leaf is there: cannot fail */
            page_source_forget(base + offset);
            /* The kernel may have unmapped the new place before it failed, and given it to another
               thread since: leave it alone. It costs addresses, not memory. */
            return NULL;
        }
        huge->base = base;
        huge->block = base + offset;
        extent = total;
    }
    return huge_resized(huge, total, extent);
}
