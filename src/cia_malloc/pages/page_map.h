/*
 * SPDX-License-Identifier: MIT
 *
 * From an address to its page: what free() must know, 16 bytes a page, found by two loads that
 * depend on nothing but the address; and to its chunk. A root in .bss and leaves for 512 MiB of
 * address space each, mapped when first needed and kept. Memory that is not ours reads as all zero,
 * or has no leaf.
 */
#ifndef MPLACE_CIA_PAGE_MAP_H
#define MPLACE_CIA_PAGE_MAP_H

#include "cia_malloc/pages/page_source.h"

#include <assert.h>
#include <stddef.h>

/* What a page is in: a run of one of so many size classes (heap/size_classes/size_class.h), or of
 * these. */
enum {
    PAGE_SIZE_CLASSES = 72,
    CLASS_LARGE = PAGE_SIZE_CLASSES, /* a run that is one block, see large/large.h */
    CLASS_HUGE = 0xfe,               /* a mapping that is one block, see large/huge.h */
    CLASS_NONE = 0xff,               /* no run here */
};

/*
 * Written when a run is carved, before its first block is handed out, under the lock of the
 * sub-heap that owns the chunk; only read while any block of the run lives. So a reader with a
 * valid block needs no more order than its own hand-over gave. But starts: the bit of a block that
 * is handed out from an address inside it, or is sampled for a profile, is cleared meanwhile; only
 * a thread that has that block may ask for it.
 */
struct page_info {
    /* Bit l: in line l of the page begins a block that may be cached in a magazine. */
    uint64_t starts;
    union {
        struct {
            uint16_t magazine;  /* where that is: see magazine_offset. 0: no such blocks here */
            uint8_t size_class; /* or CLASS_LARGE, CLASS_HUGE or CLASS_NONE */
            uint8_t run_type;   /* type of the run's first span */
            uint32_t start;     /* where block 0 of the run begins: its address modulo 2^32 */
        };
        /* Of the page where a huge block begins: its record, see page_map_set_huge. */
        _Atomic uint64_t huge;
    };
};

static_assert(sizeof(struct page_info) == 16, "four pages a line");
static_assert(offsetof(struct page_info, size_class) - offsetof(struct page_info, huge) == 2,
              "page_map_huge relies on it");

enum {
    PAGE_MAP_LEAF_SHIFT = 29,
    PAGE_MAP_LEAF_PAGES = 1 << (PAGE_MAP_LEAF_SHIFT - PAGE_SHIFT),
    /* Of user space of 4-level page tables, and all that mmap gives without a hint above it. */
    ADDRESS_BITS = 47,
    PAGE_MAP_ROOT_ENTRIES = 1 << (ADDRESS_BITS - PAGE_MAP_LEAF_SHIFT),
    PAGE_MAP_LEAF_CHUNKS = PAGE_MAP_LEAF_PAGES / CHUNK_PAGES,
};

struct chunk;

struct page_map_leaf {
    struct page_info pages[PAGE_MAP_LEAF_PAGES];
    /*
     * Of each aligned 4 MiB the chunk, or NULL. Written (release) before the first block of it is
     * handed out and after the last one is back, by the thread that holds them all; so a reader
     * (acquire) with a valid block needs no more order than its own hand-over gave, and one with a
     * foreign pointer reads NULL or nothing of interest.
     */
    _Atomic(struct chunk *) chunks[PAGE_MAP_LEAF_CHUNKS];
};

/* A leaf is published by compare-and-swap (release) and never changes its place. */
extern _Atomic(struct page_map_leaf *) page_map_root[PAGE_MAP_ROOT_ENTRIES];

/* NULL for an address that no chunk and no huge block was ever near. */
static inline __attribute__((always_inline)) struct page_map_leaf *
page_map_leaf_of(const void *address)
{
    uintptr_t window = (uintptr_t)address >> PAGE_MAP_LEAF_SHIFT;

    if (__builtin_expect(window >= PAGE_MAP_ROOT_ENTRIES, 0))
        return NULL;
    return atomic_load_explicit(&page_map_root[window], memory_order_acquire);
}

/* NULL where there is no leaf. */
static inline __attribute__((always_inline)) struct page_info *page_map_find(const void *address)
{
    struct page_map_leaf *leaf = page_map_leaf_of(address);

    if (__builtin_expect(leaf == NULL, 0))
        return NULL;
    return &leaf->pages[(uintptr_t)address >> PAGE_SHIFT & (PAGE_MAP_LEAF_PAGES - 1)];
}

static inline _Atomic(struct chunk *) *page_map_chunk_entry(struct page_map_leaf *leaf,
                                                            const void *address)
{
    return &leaf->chunks[(uintptr_t)address >> CHUNK_SHIFT & (PAGE_MAP_LEAF_CHUNKS - 1)];
}

/* The chunk that the address is in, or NULL. */
static inline struct chunk *page_map_chunk(const void *address)
{
    struct page_map_leaf *leaf = page_map_leaf_of(address);

    if (__builtin_expect(leaf == NULL, 0))
        return NULL;
    return atomic_load_explicit(page_map_chunk_entry(leaf, address), memory_order_acquire);
}

/* chunk: NULL takes it away. The leaf must be there, see page_map_provide. */
static inline void page_map_set_chunk(const void *address, struct chunk *chunk)
{
    atomic_store_explicit(page_map_chunk_entry(page_map_leaf_of(address), address), chunk,
                          memory_order_release);
}

/* Whether a block that may be cached begins in the address's line, on a page of that info. */
static inline __attribute__((always_inline)) bool
page_info_starts_line(const struct page_info *info, const void *address)
{
    /* Relaxed, not plain: others may change other bits. */
    return (__atomic_load_n(&info->starts, __ATOMIC_RELAXED) >>
                ((uintptr_t)address >> LINE_SHIFT) % LINES_PER_PAGE &
            1) != 0;
}

/*
 * Whether the page, of that info or NULL, is in a run, or a huge block begins there. If not, no
 * block of ours does, and it may be another's page: where a chunk's pages do not fill its 4 MiB,
 * or once they are unmapped.
 */
static inline bool page_info_is_used(const struct page_info *info)
{
    return info != NULL && info->size_class != CLASS_NONE &&
           (atomic_load_explicit(&info->huge, memory_order_relaxed) |
            __atomic_load_n(&info->starts, __ATOMIC_RELAXED)) != 0;
}

/*
 * Says whether free() takes the address's line for the beginning of a block. For a thread that has
 * the block there; atomic, because others may have other blocks of the page.
 */
static inline void page_info_mark_start(struct page_info *info, const void *address, bool begins)
{
    uint64_t bit = (uint64_t)1 << ((uintptr_t)address >> LINE_SHIFT) % LINES_PER_PAGE;

    if (begins)
        __atomic_fetch_or(&info->starts, bit, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&info->starts, ~bit, __ATOMIC_RELAXED);
}

/*
 * The entry of the page of that address, and of those behind it up to the next multiple of 512 MiB;
 * NULL when out of memory.
 */
struct page_info *page_map_provide(const void *address);

/*
 * Huge blocks (huge.h) are mappings of their own. The entry of the page where one begins leads to
 * its record; those of its other pages are zero. Of the record's 47-bit address, a multiple of 128,
 * 40 bits remain, and share the word with the class.
 */
enum { PAGE_MAP_RECORD_ALIGNMENT = 128 };

/* The record of the huge block that begins in the page of the address, or NULL. */
static inline void *page_map_huge(const void *address)
{
    struct page_info *info = page_map_find(address);

    if (info == NULL)
        return NULL;
    /* Relaxed: a caller that has the block got it after this was written. */
    uint64_t word = atomic_load_explicit(&info->huge, memory_order_relaxed);
    return (word >> 16 & 0xff) == CLASS_HUGE ? (void *)(uintptr_t)(word >> 24 << 7) : NULL;
}

/* record: NULL takes it away. The page's leaf must be there, see page_map_provide. */
static inline void page_map_set_huge(const void *address, const void *record)
{
    uint64_t word =
        record != NULL ? (uint64_t)(uintptr_t)record >> 7 << 24 | (uint64_t)CLASS_HUGE << 16 : 0;

    atomic_store_explicit(&page_map_find(address)->huge, word, memory_order_relaxed);
}

/*
 * For who learns the address only when it is too late to fail: a leaf in hand, NULL when out of
 * memory. It is used for an address, unless that has one by then, or put back.
 */
struct page_map_leaf *page_map_take_leaf(void);
void page_map_use_leaf(const void *address, struct page_map_leaf *leaf);
void page_map_put_leaf(struct page_map_leaf *leaf);

#endif
