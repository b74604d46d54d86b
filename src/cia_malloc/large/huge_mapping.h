/*
 * SPDX-License-Identifier: MIT
 *
 * A mapping that is one block, or was one and is kept for another: its record, how long it is, and
 * the totals of all. What is asked of one that has a block is in huge.h.
 */
#ifndef MPLACE_CIA_HUGE_MAPPING_H
#define MPLACE_CIA_HUGE_MAPPING_H

#include "cia_malloc/heap/subheap.h"
#include "cia_malloc/pages/allocator_mode.h"

/*
 * What page_map_huge finds for a mapping that is one block. While it has a block it is changed only
 * for that block's owner; while it is kept, by whoever takes it out of its slot.
 */
struct huge {
    /* The first five are read by searches of huge_cache.c too, whoever has the mapping: each is
       atomic, and what is read of several may be of different moments. */
    _Alignas(PAGE_MAP_RECORD_ALIGNMENT) _Atomic(char *) base; /* a page's beginning */
    atomic_size_t extent;                                     /* of the mapping, in bytes */
    _Atomic uint8_t node;   /* the memory node that its pages are to come from */
    _Atomic uint64_t since; /* of decay_clock: when it was last resized, or since when it is kept */
    _Atomic uint64_t turn;  /* greater than of those freed before, in the same tick too */
    size_t used_bytes;      /* of the extent, up to the end of the block's pages; the rest is for
                               growing, and for the next block */
    char *block;            /* what malloc returned */
    /* With CIA_HARDEN=1, see hardened.c: how much the program asked for, plus 1; 0: it does not
       have the block. */
    atomic_size_t marked;
    _Atomic(struct huge *) next; /* while it is in a stack of records */
};

static_assert(sizeof(struct huge) == PAGE_MAP_RECORD_ALIGNMENT, "records side by side are aligned");

/* A record without a mapping, never resized and without a mark; NULL when out of memory. No lock.
 */
struct huge *huge_record_take(void);
void huge_record_put(struct huge *record);

/* Maps extent bytes on the record's node. False: ENOMEM, and the record has no mapping. */
bool huge_map_extent(struct huge *record, size_t extent, size_t alignment);

/* The record has its mapping: the block begins so far behind that, its pages end at total, and it
   is live. NULL when out of memory: the mapping was given back, and the record with it. */
void *huge_begin(struct huge *record, size_t offset, size_t total);

/* It is no block any more; the mapping stays. */
void huge_finish(struct huge *record);

/* The live block has so many bytes of its mapping now, which has so many. Returns the block. */
void *huge_resized(struct huge *huge, size_t total, size_t extent);

/*
 * Makes the live block's mapping so long, of which total are the block's. The block may move, its
 * pages without a copy. False, nothing changed, when that cannot be done.
 */
bool huge_grow(struct huge *huge, size_t total, size_t extent);

/*
 * Unmaps it, and puts the record back. Where the kernel refuses (page_source_unmap) the addresses
 * are tried again at the next such call, and by huge_unmap_refused.
 */
void huge_give_back(struct huge *record);
void huge_unmap_refused(void);

/* Sums over all mappings that are a block. Each is atomic, but they are not raised together. */
struct huge_totals {
    atomic_size_t bytes, blocks;           /* of the live ones, and the pages that they are on */
    atomic_size_t bytes_most, blocks_most; /* the most that each of those ever was */
    _Atomic uint64_t made;                 /* all that ever were */
};

/* Written in huge_mapping.c alone, once a mapping of more than half a MiB comes or goes. */
extern struct huge_totals huge_totals;

#endif
