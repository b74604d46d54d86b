/*
 * SPDX-License-Identifier: MIT
 *
 * See huge.h.
 */
#include "cia_malloc/large/huge.h"

#include "cia_malloc/heap/block.h"

enum {
    /* Mappings with guard pages on both sides are three to the kernel, which has 65,530 for a
       process. With so many of them blocks that can do without a mapping do without, and longer
       ones without guard pages, so that those side by side are one to the kernel. */
    GUARDED_MOST = 16 << 10,
    /* So many mappings of freed blocks stay protected; the oldest of more may serve another block.
     */
    PROTECTED_KEPT = HUGE_CACHE_SLOTS / 2,
};

bool huge_guarded_is_wanted(void)
{
    return harden_is_on() && huge_totals.blocks < GUARDED_MOST;
}

/* Bytes of guard pages on each side of a mapping's block, at least. */
static size_t guard_bytes(void)
{
    return harden_is_on() ? PAGE_BYTES : 0;
}

/*
 * How long to make a mapping that needs total bytes and guard pages: those behind the block cost no
 * memory. A power of two suits more blocks later. Above a chunk's length it is a multiple of a
 * quarter of the power below: a block that grows in small steps is copied four times for each
 * doubling of its length.
 */
static size_t guarded_extent_for(size_t total)
{
    size_t power = (size_t)1 << (64 - __builtin_clzll(total - 1)); /* total at least */
    size_t step = total > CHUNK_BYTES ? power / 8 : power;

    return (total + step - 1) & ~(step - 1);
}

/* Whole pages before the block that begins there. */
static size_t pages_before(size_t offset)
{
    return offset & ~(size_t)(PAGE_BYTES - 1);
}

/*
 * Where in its mapping a block begins. Pages that lie a power of two apart share a set of the TLB
 * and of the L2, and so do those of mappings of such a length side by side: so a block may begin
 * some pages further on as well, in turn. The pages before it are never touched. (128 buffers read
 * in step, 4 MiB less a line apart: 10.7 ns a line; 4 MiB and a page and a line: 3.2.)
 */
struct place {
    size_t offset;     /* at least: of the colour, and with CIA_HARDEN=1 of guard pages */
    size_t room;       /* the same for any colour: a mapping serves its length again */
    size_t turn_bytes; /* whole pages to be added where there is room */
    size_t alignment;  /* of the mapping, and of what is added */
};

static struct place place_of(uint32_t colour, size_t alignment)
{
    enum { TURNS = 32 };
    /* A page, or two where the page's number takes part in the colour. */
    size_t cycle = (size_t)colours * LINE_BYTES;
    struct place place = {
        .room = guard_bytes(),
        .turn_bytes = colour % TURNS * cycle,
        .alignment = cycle,
    };

    /* Beyond a page the guard before the block is as long as its alignment. */
    if (alignment > PAGE_BYTES)
        place = (struct place){
            .room = guard_bytes() != 0 ? alignment : 0,
            .alignment = alignment,
        };
    place.offset = place.room;
    if (alignment <= LINE_BYTES) {
        place.offset += (size_t)colour * LINE_BYTES;
        place.room += cycle - LINE_BYTES;
    }
    return place;
}

/* Bytes of a mapping for a block there, of any colour. */
static size_t extent_for(size_t bytes, struct place place)
{
    return round_up_to_pages(bytes + place.room + place.turn_bytes) + guard_bytes();
}

static void *map_new(size_t bytes, struct place place, uint8_t node)
{
    struct huge *record = huge_record_take();
    size_t offset = place.offset + place.turn_bytes;
    size_t total = round_up_to_pages(bytes + offset), extent = extent_for(bytes, place);

    if (record == NULL)
        return NULL;
    record->node = node;
    if (!(harden_is_on() && huge_map_extent(record, guarded_extent_for(extent), place.alignment)) &&
        !huge_map_extent(record, extent, place.alignment) &&
        (huge_give_back_all() == 0 || !huge_map_extent(record, extent, place.alignment))) {
        huge_record_put(record);
        return NULL;
    }
    void *block = huge_begin(record, offset, total);
    if (block != NULL && huge_guarded_is_wanted()) { /* as far as the kernel will */
        (void)page_source_protect(record->base, pages_before(offset), PROT_NONE);
        (void)page_source_protect(record->base + total, record->extent - total, PROT_NONE);
    }
    return block;
}

enum {
    REST_LEAST = LARGE_GREATEST_PAGES * PAGE_BYTES,
    SPARE_PART = 8, /* an eighth of a block's length may lie beside it, for growing */
    TAIL_PART = 4,  /* and a quarter behind one that got shorter a moment ago */
};

/* Keeps a part of a mapping in a record of its own, for as long as that would have been, if it is
   long enough for another block. False: it is not kept. */
static bool keep_part(const struct huge *record, char *from, size_t bytes)
{
    struct huge *part = bytes > REST_LEAST ? huge_record_take() : NULL;

    if (part != NULL) {
        part->base = from;
        part->extent = bytes;
        part->since = record->since;
        part->node = record->node;
        huge_keep_on(part);
    }
    return part != NULL;
}

/* A part that the mapping's block does not need. False: it stays there, and is purged if it is more
   than an eighth of the block. */
static bool keep_beside(const struct huge *record, char *from, size_t bytes, size_t block_bytes)
{
    bool is_kept = keep_part(record, from, bytes);

    if (!is_kept && bytes > block_bytes / SPARE_PART)
        page_source_purge(from, bytes);
    return is_kept;
}

/* A block in a mapping that was kept; NULL when there is none that serves. */
static void *reuse(size_t bytes, struct place place, uint8_t node)
{
    size_t least = round_up_to_pages(bytes + place.room);
    struct huge *kept = huge_cache_take(least, place.alignment, node);

    if (kept == NULL)
        return NULL;
    size_t skip = -(uintptr_t)kept->base & (place.alignment - 1);
    if (keep_beside(kept, kept->base, skip, least)) {
        kept->base = kept->base + skip;
        kept->extent -= skip;
        skip = 0;
    }
    size_t room = kept->extent - least - skip;
    skip += (place.turn_bytes < room ? place.turn_bytes : room) & ~(place.alignment - 1);
    size_t extent = least + skip;
    if (keep_beside(kept, kept->base + extent, kept->extent - extent, extent))
        kept->extent = extent; /* else it is for growing */
    return huge_begin(kept, place.offset + skip, round_up_to_pages(bytes + place.offset + skip));
}

/* What a chunk leaves of a mapping on one side. */
static void keep_or_unmap(const struct huge *record, char *from, size_t bytes)
{
    if (bytes != 0 && !keep_part(record, from, bytes))
        page_source_unmap(from, bytes);
}

char *chunk_addresses_kept(uint8_t node)
{
    struct huge *kept = huge_cache_take(CHUNK_BYTES, CHUNK_BYTES, node);

    if (kept == NULL)
        return NULL;
    size_t before = -(uintptr_t)kept->base & (CHUNK_BYTES - 1);
    char *chunk = kept->base + before;
    if (!page_source_make_plain(chunk, CHUNK_BYTES)) {
        huge_keep_on(kept);
        return NULL;
    }
    keep_or_unmap(kept, kept->base, before);
    keep_or_unmap(kept, chunk + CHUNK_BYTES, kept->extent - before - CHUNK_BYTES);
    huge_record_put(kept);
    return chunk;
}

/* The same with CIA_HARDEN=1: in the one that was protected for longest, if there are many. */
static void *reuse_protected(size_t bytes, struct place place, uint8_t node)
{
    size_t offset = place.offset + place.turn_bytes, before = pages_before(offset);
    size_t total = round_up_to_pages(bytes + offset), least = extent_for(bytes, place);

    if (place.alignment > PAGE_BYTES || huge_cache_count() <= PROTECTED_KEPT)
        return NULL;
    struct huge *oldest = huge_cache_take_oldest(UINT64_MAX);
    if (oldest == NULL)
        return NULL;
    if (oldest->extent >= least && oldest->extent <= guarded_extent_for(least) &&
        oldest->node == node &&
        page_source_protect(oldest->base + before, total - before, PROT_READ | PROT_WRITE))
        return huge_begin(oldest, offset, total);
    huge_give_back(oldest);
    return NULL;
}

void *huge_allocate(size_t bytes, size_t alignment, uint32_t colour, uint8_t node, bool *zeroed)
{
    struct place place = place_of(colour, alignment);
    void *block = (harden_is_on() ? reuse_protected : reuse)(bytes, place, node);

    *zeroed = block == NULL || harden_is_on(); /* what was protected was purged */
    return block != NULL ? block : map_new(bytes, place, node);
}

void huge_free(struct huge *huge)
{
    uint64_t now = decay_clock();

    huge_finish(huge);
    huge_give_back_old(now);
    if (!huge_keep(huge, now))
        huge_give_back(huge);
}

struct huge *huge_at(const void *address)
{
    struct huge *huge = page_map_huge(address);

    if (__builtin_expect(huge != NULL && huge->block != address, 0))
        block_is_wrong(address, "inside a block");
    return huge;
}

/* Shorter, where it is. What is cut off stays mapped and populated if it is at most a quarter of
   the block, which was resized a moment ago: it may grow again. Else it goes back. */
static void *shrink(struct huge *huge, size_t total)
{
    uint64_t now = decay_clock();
    size_t extent = huge->extent, rest = extent - total;

    if (rest > total / TAIL_PART || !decay_is_recent(huge->since)) {
        if (page_source_unmap(huge->base + total, rest))
            extent = total;
    }
    huge->since = now;
    return huge_resized(huge, total, extent);
}

/* The guard pages on both sides stay. */
static void *resize_guarded(struct huge *huge, size_t total)
{
    size_t old = huge->used_bytes, extent = huge->extent;

    if (total <= old) {
        if (total < old && !page_source_purge(huge->base + total, old - total))
            return NULL;
        /* As far as the kernel will: what the block had there is gone already. */
        if (huge_guarded_is_wanted())
            (void)page_source_protect(huge->base + total, old - total, PROT_NONE);
    } else if (total + guard_bytes() > extent ||
               !page_source_protect(huge->base + old, total - old, PROT_READ | PROT_WRITE)) {
        return NULL;
    }
    return huge_resized(huge, total, extent);
}

void *huge_resize(struct huge *huge, size_t new_bytes)
{
    size_t offset = (size_t)(huge->block - huge->base);
    size_t total = round_up_to_pages(new_bytes + offset);

    if (harden_is_on())
        return resize_guarded(huge, total);
    if (total < huge->used_bytes)
        return shrink(huge, total);
    if (total <= huge->extent)
        return huge_resized(huge, total, huge->extent);
    /* Some addresses more: what grows once often grows in steps. */
    size_t slack = round_up_to_pages(total / SPARE_PART);
    if (!huge_grow(huge, total, total + slack) && !huge_grow(huge, total, total))
        return NULL;
    huge->since = decay_clock();
    return huge->block;
}
